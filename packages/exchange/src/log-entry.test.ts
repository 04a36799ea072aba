import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyBytesOf, formatTime, parseTime, toLogEntry } from './log-entry.ts';
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
  ])('a body of %s', (_what, hex, bodyEncoding) => {
    const requestBody = Buffer.from(hex, 'hex');
    const { request } = toLogEntry({ ...sample, requestBody });
    expect(request.bodyEncoding).toBe(bodyEncoding);
    expect(bodyBytesOf(request).toString('hex')).toBe(hex);
  });

  test('keeps every byte in JSON', () => {
    fc.assert(
      fc.property(anyLogRow, (row) => {
        const entry = JSON.parse(JSON.stringify(toLogEntry(row))) as ReturnType<typeof toLogEntry>;
        expect(bodyBytesOf(entry.request).equals(row.requestBody)).toBe(true);
        expect(bodyBytesOf(entry.response).equals(row.responseBody)).toBe(true);
        expect(entry.request.headers).toEqual(row.requestHeaders);
        expect(entry.request.target).toBe(row.target);
      }),
    );
  });
});

describe('times', () => {
  test.each([
    [0, '1970-01-01T00:00:00.000000Z'],
    [1_763_710_512_123_456, '2025-11-21T07:35:12.123456Z'],
    [1_763_710_512_000_007, '2025-11-21T07:35:12.000007Z'],
  ])('%d µs is %s', (us, text) => {
    expect(formatTime(us)).toBe(text);
    expect(parseTime(text)).toBe(us);
  });

  test.each([
    ['2025-11-21T07:35:12Z', 1_763_710_512_000_000],
    ['2025-11-21T08:35:12.5+01:00', 1_763_710_512_500_000],
    ['2025-11-21T07:35:12.123456789Z', 1_763_710_512_123_456],
    ['2025-11-21', undefined],
    ['2025-13-41T00:00:00Z', undefined],
    ['yesterday', undefined],
  ])('%s is parsed as %s', (text, us) => {
    expect(parseTime(text)).toBe(us);
  });
});
