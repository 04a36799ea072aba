import { expect, test } from 'vitest';
import { bodyPreview } from './body-preview.ts';

test.each([
  ['', ''],
  ['{\n  "order": 17,\r\n\t"café": "€"\n}\n', '{ "order": 17, "café": "€" }'],
  ['a\x00b\u202ec', String.raw`a\x00b\u202ec`],
  ['<script>alert(1)</script>', '<script>alert(1)</script>'],
])('%j is shown as %j', (body, shown) => {
  const bytes = Buffer.from(body);
  expect(bodyPreview({ bytes, bytesWhole: bytes.length })).toBe(shown);
});

test('a body that is not UTF-8 is called binary, and a missing one is empty', () => {
  expect(bodyPreview({ bytes: Buffer.from([0x1f, 0x8b, 0xff]), bytesWhole: 3 })).toBe('binary data');
  expect(bodyPreview(undefined)).toBe('');
});
