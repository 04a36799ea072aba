import { newLogRow } from '@standin/exchange/testing';
import { expect, test } from 'vitest';
import { toCapturedView } from './captured-view.server.ts';

test.each([
  ['text', 'a\r\nb', 'a\r\nb', 'utf8'],
  ['text with NUL, which a text area cannot contain', 'a\0b', 'YQBi', 'base64'],
])('%s is edited as bytes of the request', (_, requestBody, body, bodyEncoding) => {
  expect(toCapturedView(newLogRow({ requestBody: Buffer.from(requestBody) }))).toMatchObject({ body, bodyEncoding });
});
