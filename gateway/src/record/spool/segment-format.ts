import { randomFillSync } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * A segment file consists of a header and frames. All numbers are little-endian.
 *
 *     header  8 bytes `STANDSEG` · uint32 format version · uint32 columns of each row · uint32 marker · uint32 seed ·
 *             uint32 CRC-32 of these
 *     frame   uint32 marker · uint32 CRC-32 · uint32 length of the row · uint8 type and flag · the row
 *
 * A row is in the RowBinary format that ClickHouse accepts (`putRow`), so delivery does not encode it again. The row's first 16
 * bytes are its id. The CRC starts from the seed and covers length, type and row. Marker and seed are random for each process. They
 * are used to find the next frame after damage. Callers cannot know the two values, so no body can pass for a frame.
 */
export interface SegmentHeader {
  /** The number of `LOG_COLUMNS` in each row. Columns are only ever appended. */
  readonly columnCount: number;
  readonly marker: number;
  readonly seed: number;
}

const RECORD_TYPES = {
  /** A request that is about to be forwarded or delayed, without its response. */
  request: 1,
  /** A complete exchange. */
  exchange: 2,
  /** A complete exchange whose request is also stored as a record. */
  response: 3,
} as const;
export type RecordType = keyof typeof RECORD_TYPES;

/** Set next to the type if a body may have a text that is not its bytes, so that delivery finds these rows without decoding any. */
const TEXT_FLAG = 0x80;

const TYPES: readonly (RecordType | undefined)[] = [undefined, 'request', 'exchange', 'response'];
const MAGIC = Buffer.from('STANDSEG', 'latin1');
const FORMAT_VERSION = 1;

export const HEADER_BYTES = 28;
export const FRAME_HEAD_BYTES = 13;
const ID_BYTES = 16;

export const newSegmentHeader = (columnCount: number): SegmentHeader => {
  const [marker = 0, seed = 0] = randomFillSync(new Uint32Array(2));
  return { columnCount, marker, seed };
};

export const encodeHeader = ({ columnCount, marker, seed }: SegmentHeader): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  for (const [index, value] of [FORMAT_VERSION, columnCount, marker, seed].entries()) {
    header.writeUInt32LE(value, MAGIC.length + 4 * index);
  }
  header.writeUInt32LE(crc32(header.subarray(0, HEADER_BYTES - 4)), HEADER_BYTES - 4);
  return header;
};

/** Returns undefined if the segment does not begin with a header, or if the header is damaged or has another format version. */
export const decodeHeader = (segment: Buffer): SegmentHeader | undefined => {
  if (segment.length < HEADER_BYTES || !segment.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  if (segment.readUInt32LE(HEADER_BYTES - 4) !== crc32(segment.subarray(0, HEADER_BYTES - 4))) return undefined;
  if (segment.readUInt32LE(MAGIC.length) !== FORMAT_VERSION) return undefined;
  const [columnCount = 0, marker = 0, seed = 0] = [1, 2, 3].map((n) => segment.readUInt32LE(MAGIC.length + 4 * n));
  return { columnCount, marker, seed };
};

interface FrameHead {
  readonly header: SegmentHeader;
  readonly type: RecordType;
  readonly mayHaveText: boolean;
  readonly rowBytes: number;
}

/** Completes the frame at `offset`. The frame's row of `rowBytes` is already in place after `FRAME_HEAD_BYTES`. */
export const putFrameHead = (
  block: Buffer,
  offset: number,
  { header, type, mayHaveText, rowBytes }: FrameHead,
): void => {
  block.writeUInt32LE(header.marker, offset);
  block.writeUInt32LE(rowBytes, offset + 8);
  block[offset + 12] = RECORD_TYPES[type] | (mayHaveText ? TEXT_FLAG : 0);
  const covered = block.subarray(offset + 8, offset + FRAME_HEAD_BYTES + rowBytes);
  block.writeUInt32LE(crc32(covered, header.seed), offset + 4);
};

/** A part of a segment. For a record, `start` and `end` delimit its row. For other parts, they delimit all bytes of the part. */
export type SegmentPart =
  | {
      readonly kind: 'record';
      readonly type: RecordType;
      readonly mayHaveText: boolean;
      readonly start: number;
      readonly end: number;
    }
  /** Bytes that are not a frame. */
  | { readonly kind: 'corrupt'; readonly start: number; readonly end: number }
  /** The end of the file: a truncated frame or only zeros, left by a write that was not completed. */
  | { readonly kind: 'torn'; readonly start: number; readonly end: number };

/** Returns the frame at this offset, or undefined if it is incomplete or damaged. */
export const frameAt = (segment: Buffer, at: number, { marker, seed }: SegmentHeader) => {
  const start = at + FRAME_HEAD_BYTES;
  if (start > segment.length || segment.readUInt32LE(at) !== marker) return undefined;
  const end = start + segment.readUInt32LE(at + 8);
  const typeAndFlag = segment[at + 12] ?? 0;
  const type = TYPES[typeAndFlag & ~TEXT_FLAG];
  if (end > segment.length || end - start < ID_BYTES || type === undefined) return undefined;
  if (crc32(segment.subarray(at + 8, end), seed) !== segment.readUInt32LE(at + 4)) return undefined;
  return { kind: 'record', type, mayHaveText: typeAndFlag >= TEXT_FLAG, start, end } as const;
};

const findFrame = (segment: Buffer, from: number, header: SegmentHeader): number => {
  const marker = Buffer.alloc(4);
  marker.writeUInt32LE(header.marker);
  for (let at = segment.indexOf(marker, from); at >= 0; at = segment.indexOf(marker, at + 1)) {
    if (frameAt(segment, at, header) !== undefined) return at;
  }
  return -1;
};

/** Returns whether the rest of the segment looks like an incomplete write rather than a record that was damaged later. */
const isCutOff = (segment: Buffer, at: number, { marker, seed }: SegmentHeader): boolean => {
  if (segment.length - at < FRAME_HEAD_BYTES) return true;
  if (segment.readUInt32LE(at) === marker) {
    const start = at + FRAME_HEAD_BYTES;
    if (start + segment.readUInt32LE(at + 8) <= segment.length) return false;
    // A record that is complete but for its length was damaged later.
    const covered = Buffer.from(segment.subarray(at + 8));
    covered.writeUInt32LE(segment.length - start);
    return crc32(covered, seed) !== segment.readUInt32LE(at + 4);
  }
  return segment.subarray(at).every((byte) => byte === 0);
};

/** Yields all parts after the header, in order. Damage affects only the records in which it occurs, not those around them. */
export function* readParts(segment: Buffer, header: SegmentHeader): Generator<SegmentPart> {
  let at = HEADER_BYTES;
  while (at < segment.length) {
    const frame = frameAt(segment, at, header);
    if (frame !== undefined) {
      yield frame;
      at = frame.end;
      continue;
    }
    const next = findFrame(segment, at + 1, header);
    if (next < 0) {
      yield { kind: isCutOff(segment, at, header) ? 'torn' : 'corrupt', start: at, end: segment.length };
      return;
    }
    yield { kind: 'corrupt', start: at, end: next };
    at = next;
  }
}

/** Returns the id of the row at this offset, which is its first 16 bytes, as a map key. */
export const idKeyAt = (segment: Buffer, rowStart: number): string =>
  segment.toString('latin1', rowStart, rowStart + ID_BYTES);
