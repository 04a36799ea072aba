import { createHash } from 'node:crypto';
import { LOG_TABLE, type LogRow } from '@standin/contract';
import { anyLogRow, newLogRow } from '@standin/exchange/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeRow, decodeRowStart } from './codecs.generated.ts';
import { selection } from './columns.ts';
import { encodeRow, NAMESPACE_END_MAX, namespaceAt, projectUidAt } from './encode-row.ts';
import { latin1Size, putLatin1, putText, putUint64, putUuid, putVarint, textSize, varintSize } from './row-binary.ts';
import { RowBinaryReader } from './row-binary-reader.ts';

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe('encodeRow', () => {
  test('every row is read back unchanged and fills its buffer exactly', () => {
    fc.assert(
      fc.property(anyLogRow, (row) => {
        const reader = new RowBinaryReader(encodeRow(row));
        expect(decodeRow(reader)).toEqual(row);
        expect(reader.done).toBe(true);
      }),
    );
  });

  test('a selection of all columns reads the same values', () => {
    const { decode } = selection(LOG_TABLE, Object.keys(LOG_TABLE) as (keyof LogRow)[]);
    fc.assert(
      fc.property(anyLogRow, (row) => {
        const reader = new RowBinaryReader(encodeRow(row));
        expect(decode(reader)).toEqual(row);
        expect(reader.done).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  // A retry with other bytes would have another deduplication token, and segments of older gateways would be misread.
  test('the bytes of the first 44 columns never change', () => {
    const row = newLogRow({
      id: '01931f3e-7c3a-7bbb-8ccc-0123456789ab',
      receivedAtUs: 1_764_300_000_123_456,
      expiresAtS: 1_764_400_000,
      requestTrailers: [['x-checksum', '\xe9'.repeat(200)]],
      responseTruncated: true,
      upstreamError: 'né',
      quotaPermit: 2 ** 40,
    });
    const bytes = encodeRow(row).subarray(0, 653);
    expect(sha256(bytes)).toBe('119914bedca392f76330df8d94d80c696bf3c88dd1e8c08ee609d33d44ae7fbf');
  });

  test('the same row always results in the same bytes, so a retry is identical', () => {
    fc.assert(
      fc.property(anyLogRow, (row) => encodeRow(row).equals(encodeRow(structuredClone(row)))),
      { numRuns: 20 },
    );
  });

  test('the namespace is found without decoding the row', () => {
    const name = fc.stringMatching(/^[a-z0-9-]{1,63}$/);
    fc.assert(
      fc.property(anyLogRow, name, (row, namespace) => {
        const bytes = encodeRow({ ...row, namespace });
        expect(namespaceAt(Buffer.concat([Buffer.alloc(3), bytes]), 3)).toBe(namespace);
        expect(encodeRow({ ...row, namespace: '' }).length).toBeGreaterThan(NAMESPACE_END_MAX);
      }),
    );
  });

  test('the uid of the project is found without decoding the row', () => {
    fc.assert(
      fc.property(anyLogRow, (row) => {
        expect(projectUidAt(Buffer.concat([Buffer.alloc(3), encodeRow(row)]), 3)).toBe(row.projectUid);
      }),
    );
  });

  test('the start of every row is read without the columns behind the bodies', () => {
    fc.assert(
      fc.property(anyLogRow, (row) => {
        const start = decodeRowStart(new RowBinaryReader(encodeRow(row)));
        expect(row).toMatchObject(start);
        expect(start.responseBody).toEqual(row.responseBody);
      }),
      { numRuns: 20 },
    );
  });

  test('rows can be concatenated', () => {
    fc.assert(
      fc.property(fc.array(anyLogRow, { maxLength: 4 }), (rows) => {
        const reader = new RowBinaryReader(Buffer.concat(rows.map(encodeRow)));
        expect(rows.map(() => decodeRow(reader))).toEqual(rows);
        expect(reader.done).toBe(true);
      }),
      { numRuns: 20 },
    );
  });
});

const encoded = (size: number, put: (buffer: Buffer) => number): string => {
  const buffer = Buffer.alloc(size);
  expect(put(buffer)).toBe(size);
  return buffer.toString('hex');
};

describe('RowBinary, byte for byte', () => {
  test.each([
    [0, '00'],
    [1, '01'],
    [127, '7f'],
    [128, '8001'],
    [16_383, 'ff7f'],
    [16_384, '808001'],
    [2 ** 31, '8080808008'],
    [2 ** 40 + 1, '818080808020'],
  ])('the varint %d is encoded and decoded', (value, hex) => {
    expect(encoded(varintSize(value), (buffer) => putVarint(buffer, value, 0))).toBe(hex);
    expect(new RowBinaryReader(Buffer.from(hex, 'hex')).varint()).toBe(value);
  });

  test.each([
    [0, '0000000000000000'],
    [0x1234_5678_9abc, 'bc9a785634120000'],
    [Number.MAX_SAFE_INTEGER, 'ffffffffffff1f00'],
  ])('the UInt64 %d is encoded and decoded', (value, hex) => {
    expect(encoded(8, (buffer) => putUint64(buffer, value, 0))).toBe(hex);
    expect(new RowBinaryReader(Buffer.from(hex, 'hex')).int64()).toBe(value);
  });

  test("a UUID is two little-endian halves, as the format's documentation states", () => {
    const uuid = '61f0c404-5cb3-11e7-907b-a6006ad3dba0';
    const hex = 'e711b35c04c4f061a0dbd36a00a67b90';
    expect(encoded(16, (buffer) => putUuid(buffer, uuid, 0))).toBe(hex);
    expect(encoded(16, (buffer) => putUuid(buffer, uuid.toUpperCase(), 0))).toBe(hex);
    expect(new RowBinaryReader(Buffer.from(hex, 'hex')).uuid()).toBe(uuid);
  });

  test.each([
    ['', '00'],
    ['abc', '03616263'],
    ['é', '02c3a9'],
    ['日本', '06e697a5e69cac'],
    ['x'.repeat(41), `29${'78'.repeat(41)}`],
    ['é'.repeat(100), `c801${'c3a9'.repeat(100)}`],
  ])('the text %j is encoded as UTF-8', (text, hex) => {
    expect(encoded(textSize(text), (buffer) => putText(buffer, text, 0))).toBe(hex);
  });

  test.each([
    ['é\xff\x00', '03e9ff00'],
    ['\xe9'.repeat(130), `8201${'e9'.repeat(130)}`],
  ])('the latin1 text %j is encoded as one byte per character', (text, hex) => {
    expect(encoded(latin1Size(text), (buffer) => putLatin1(buffer, text, 0))).toBe(hex);
  });

  test('a buffer that ends inside a value is an error, not a short value', () => {
    expect(() => new RowBinaryReader(Buffer.from('0561', 'hex')).bytes()).toThrow(RangeError);
    expect(() => new RowBinaryReader(Buffer.from('80', 'hex')).varint()).toThrow(RangeError);
  });
});
