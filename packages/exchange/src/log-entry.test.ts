import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyAsBuffer, toLogEntry } from './log-entry.ts';
import { anyLogRow } from './log-row.testing.ts';

const [sample] = fc.sample(anyLogRow, { numRuns: 1, seed: 1 });
if (!sample) throw new Error('no sample');

describe('toLogEntry', () => {
  test('has the documented fields, in order, before any others', () => {
    const entry = toLogEntry(sample);
    const first = ['id', 'receivedAt', 'namespace', 'project', 'endpoint', 'method', 'path', 'query', 'status'];
    expect(Object.keys(entry).slice(0, 12)).toEqual([...first, 'durationMs', 'request', 'response']);
    const request = ['target', 'httpVersion', 'headers', 'trailers', 'body', 'bodyEncoding'];
    expect(Object.keys(entry.request)).toEqual(request);
    expect(Object.keys(entry.response).slice(0, 5)).toEqual(['status', 'headers', 'body', 'bodyEncoding', 'truncated']);
  });

  test.each([
    ['plain text', '7465787400', 'utf8'],
    ['nothing', '', 'utf8'],
    ['a byte order mark, which is kept', 'efbbbf61', 'utf8'],
    ['all of Unicode', 'f09f9880c3a9', 'utf8'],
    ['a byte that is not UTF-8', '61ff', 'base64'],
    ['a surrogate in UTF-8', 'eda080', 'base64'],
    ['an overlong form', 'c080', 'base64'],
    ['half a character', 'e697', 'base64'],
  ])('preserves the bytes of a body with %s', (_what, hex, bodyEncoding) => {
    const requestBody = Buffer.from(hex, 'hex');
    const { request } = toLogEntry({ ...sample, requestBody });
    expect(request.bodyEncoding).toBe(bodyEncoding);
    expect(bodyAsBuffer(request).toString('hex')).toBe(hex);
  });

  test('keeps every byte in JSON', () => {
    fc.assert(
      fc.property(anyLogRow, (row) => {
        const entry = JSON.parse(JSON.stringify(toLogEntry(row))) as ReturnType<typeof toLogEntry>;
        expect(bodyAsBuffer(entry.request).equals(row.requestBody)).toBe(true);
        expect(bodyAsBuffer(entry.response).equals(row.responseBody)).toBe(true);
        expect(entry.request.headers).toEqual(row.requestHeaders);
        expect(entry.request.target).toBe(row.target);
      }),
    );
  });
});
