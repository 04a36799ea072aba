import { open } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RowBatch } from '../record/spool/row-buffer.ts';
import { decodeHeader, HEADER_BYTES, idKeyAt, readParts } from '../record/spool/segment-format.ts';

/** The request of an exchange whose answer stands elsewhere, or nowhere. */
export interface RequestRecord {
  /** The id's bytes (`idKeyAt`). */
  readonly idKey: string;
  /** Where its row stands in the segment. */
  readonly start: number;
  readonly end: number;
}

/** Bytes of a segment that are no record. */
export interface Damage {
  readonly kind: 'corrupt' | 'torn' | 'header';
  readonly offset: number;
  readonly bytes: Buffer;
}

/** What a segment holds, as delivery needs it. */
export interface SegmentContent {
  /** Size of the file. */
  readonly bytes: number;
  readonly columnCount: number;
  /** The whole exchanges, ready to be inserted. */
  readonly exchanges: RowBatch;
  readonly requests: readonly RequestRecord[];
  /** Ids of exchanges whose requests are records, too. */
  readonly answeredKeys: readonly string[];
  readonly damage: readonly Damage[];
}

/** So much is checked and moved before others get their turn: well below a millisecond. */
const BYTES_PER_TURN = 1024 * 1024;

/** Undefined: there is no such file. */
const readWhole = async (file: string, spare: Buffer | undefined): Promise<Buffer | undefined> => {
  try {
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      const buffer = spare !== undefined && spare.length >= size ? spare : Buffer.allocUnsafeSlow(size);
      let end = 0;
      for (let bytesRead = -1; bytesRead !== 0 && end < size; end += bytesRead) {
        ({ bytesRead } = await handle.read(buffer, end, size - end, end));
      }
      return buffer.subarray(0, end);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};

const headerDamage = (segment: Buffer): SegmentContent => ({
  bytes: segment.length,
  columnCount: 0,
  exchanges: { rows: Buffer.alloc(0), ends: [] },
  requests: [],
  answeredKeys: [],
  // Shorter than a header: begun when the process or the machine ended.
  damage: segment.length < HEADER_BYTES ? [] : [{ kind: 'header', offset: 0, bytes: Buffer.from(segment) }],
});

/**
 * Reads a segment and checks every record. Undefined: there is no such file. The memory of `spare` is used where it is large enough;
 * `exchanges` lies in it, its rows moved together over what stood between them.
 */
export const readSegment = async (file: string, spare?: Buffer): Promise<SegmentContent | undefined> => {
  const segment = await readWhole(file, spare);
  if (segment === undefined) return undefined;
  const header = decodeHeader(segment);
  if (header === undefined) return headerDamage(segment);
  const requests: RequestRecord[] = [];
  const answeredKeys: string[] = [];
  const damage: Damage[] = [];
  const ends: number[] = [];
  let rowsEnd = 0;
  let turnEnd = BYTES_PER_TURN;
  for (const part of readParts(segment, header)) {
    const { start, end } = part;
    if (part.kind !== 'record')
      damage.push({ kind: part.kind, offset: start, bytes: Buffer.from(segment.subarray(start, end)) });
    else if (part.type === 'request') requests.push({ idKey: idKeyAt(segment, start), start, end });
    else {
      if (part.type === 'answer') answeredKeys.push(idKeyAt(segment, start));
      // Never over what is still to be read: a row is shorter than its frame, and the first stands behind the header.
      segment.copyWithin(rowsEnd, start, end);
      rowsEnd += end - start;
      ends.push(rowsEnd);
    }
    if (end < turnEnd) continue;
    turnEnd = end + BYTES_PER_TURN;
    await nextTurn();
  }
  const exchanges = { rows: segment.subarray(0, rowsEnd), ends };
  return { bytes: segment.length, columnCount: header.columnCount, exchanges, requests, answeredKeys, damage };
};

/** The rows of these requests of a segment, as a batch. Undefined: there is no such file. */
export const readRequests = async (
  file: string,
  requests: readonly RequestRecord[],
): Promise<(RowBatch & { readonly columnCount: number }) | undefined> => {
  const segment = await readWhole(file, undefined);
  const header = segment === undefined ? undefined : decodeHeader(segment);
  if (segment === undefined || header === undefined) return undefined;
  let end = 0;
  const ends = requests.map((request) => (end += request.end - request.start));
  const rows = Buffer.concat(requests.map((request) => segment.subarray(request.start, request.end)));
  return { rows, ends, columnCount: header.columnCount };
};
