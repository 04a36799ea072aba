import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeHeader,
  encodeHeader,
  FRAME_HEAD_BYTES,
  HEADER_BYTES,
  newSegmentHeader,
  putFrameHead,
  readParts,
  type RecordType,
  type SegmentHeader,
  type SegmentPart,
} from './segment-format.ts';

interface Written {
  readonly type: RecordType;
  readonly mayHaveText?: boolean;
  readonly row: Buffer;
}

const encode = (header: SegmentHeader, records: readonly Written[]): Buffer =>
  Buffer.concat([
    encodeHeader(header),
    ...records.map(({ type, mayHaveText = false, row }) => {
      const frame = Buffer.concat([Buffer.alloc(FRAME_HEAD_BYTES), row]);
      putFrameHead(frame, 0, { header, type, mayHaveText, rowBytes: row.length });
      return frame;
    }),
  ]);

const read = (segment: Buffer): { parts: SegmentPart[]; records: Written[] } => {
  const header = decodeHeader(segment);
  if (header === undefined) return { parts: [], records: [] };
  const parts = [...readParts(segment, header)];
  const records = parts.flatMap((part) =>
    part.kind === 'record'
      ? [{ type: part.type, mayHaveText: part.mayHaveText, row: segment.subarray(part.start, part.end) }]
      : [],
  );
  return { parts, records };
};

const anyRecord = fc.record({
  type: fc.constantFrom<RecordType>('request', 'exchange', 'response'),
  mayHaveText: fc.boolean(),
  row: fc.uint8Array({ minLength: 16, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
});
const anyRecords = fc.array(anyRecord, { minLength: 1, maxLength: 12 });
const hexRecords = (records: readonly Written[]): string[] =>
  records.map(({ type, mayHaveText = false, row }) => `${type} ${mayHaveText} ${row.toString('hex')}`);

describe('a segment', () => {
  test('returns the written records, regardless of their content', () => {
    fc.assert(
      fc.property(anyRecords, fc.nat({ max: 1_000 }), (records, columnCount) => {
        const segment = encode(newSegmentHeader(columnCount), records);
        expect(decodeHeader(segment)?.columnCount).toBe(columnCount);
        const { parts, records: found } = read(segment);
        expect(hexRecords(found)).toEqual(hexRecords(records));
        expect(parts.every(({ kind }) => kind === 'record')).toBe(true);
      }),
    );
  });

  test('that is truncated returns all complete records and reports the truncation', () => {
    fc.assert(
      fc.property(anyRecords, fc.nat(), (records, place) => {
        const segment = encode(newSegmentHeader(36), records);
        const end = HEADER_BYTES + (place % (segment.length - HEADER_BYTES));
        const ends = records.reduce<number[]>(
          (all, { row }) => [...all, (all.at(-1) ?? HEADER_BYTES) + FRAME_HEAD_BYTES + row.length],
          [],
        );
        const whole = ends.filter((recordEnd) => recordEnd <= end);
        const { parts, records: found } = read(segment.subarray(0, end));
        expect(hexRecords(found)).toEqual(hexRecords(records.slice(0, whole.length)));
        expect(parts.at(-1)?.kind === 'torn').toBe((whole.at(-1) ?? HEADER_BYTES) < end);
      }),
    );
  });

  test('with one flipped bit loses only the affected record and reports the damage', () => {
    fc.assert(
      fc.property(anyRecords, fc.nat(), fc.nat({ max: 7 }), (records, place, bit) => {
        const segment = encode(newSegmentHeader(36), records);
        const at = HEADER_BYTES + (place % (segment.length - HEADER_BYTES));
        segment[at] = (segment[at] ?? 0) ^ (1 << bit);
        let end = HEADER_BYTES;
        const hit = records.findIndex(({ row }) => at < (end += FRAME_HEAD_BYTES + row.length));
        const { parts, records: found } = read(segment);
        expect(hexRecords(found)).toEqual(hexRecords(records.filter((_, index) => index !== hit)));
        const damage = parts.filter(({ kind }) => kind !== 'record');
        expect(damage).toHaveLength(1);
        expect(damage[0]?.kind).toBe('corrupt');
      }),
    );
  });

  test('with garbage in the middle loses only the records that the garbage covers', () => {
    fc.assert(
      fc.property(anyRecords, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 64 }), (records, place, garbage) => {
        const segment = encode(newSegmentHeader(36), records);
        const at = HEADER_BYTES + (place % (segment.length - HEADER_BYTES));
        const covered = segment.subarray(at, at + garbage.length);
        covered.set(garbage.subarray(0, covered.length));
        let end = HEADER_BYTES;
        const spared = records.filter(({ row }) => {
          const start = end;
          end += FRAME_HEAD_BYTES + row.length;
          return end <= at || start >= at + covered.length;
        });
        expect(hexRecords(read(segment).records)).toEqual(expect.arrayContaining(hexRecords(spared)));
      }),
    );
  });
});

test('zeros at the end count as an incomplete write, while a damaged last record does not', () => {
  const segment = encode(newSegmentHeader(36), [{ type: 'exchange', row: Buffer.alloc(40, 0x61) }]);
  const partKinds = (bytes: Buffer) => read(bytes).parts.map(({ kind }) => kind);
  expect(partKinds(Buffer.concat([segment, Buffer.alloc(500)]))).toEqual(['record', 'torn']);
  segment[segment.length - 1] = 0;
  expect(partKinds(segment)).toEqual(['corrupt']);
});

test('a truncated or damaged header is not accepted', () => {
  const header = encodeHeader(newSegmentHeader(36));
  for (let length = 0; length < header.length; length++)
    expect(decodeHeader(header.subarray(0, length))).toBeUndefined();
  for (let at = 0; at < header.length; at++) {
    const damaged = Buffer.from(header);
    damaged[at] = (damaged[at] ?? 0) ^ 0x10;
    expect(decodeHeader(damaged)).toBeUndefined();
  }
});

test('a frame inside a body is not mistaken for a record if the frame around the body is damaged', () => {
  const forged = encode(newSegmentHeader(36), [{ type: 'exchange', row: Buffer.alloc(64, 0x66) }]).subarray(
    HEADER_BYTES,
  );
  const innocent = { type: 'exchange', row: Buffer.alloc(32, 0x69) } as const;
  const segment = encode(newSegmentHeader(36), [{ type: 'exchange', row: forged }, innocent]);
  segment[HEADER_BYTES] = (segment[HEADER_BYTES] ?? 0) ^ 1;
  expect(hexRecords(read(segment).records)).toEqual(hexRecords([innocent]));
});
