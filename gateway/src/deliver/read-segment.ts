import { open } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isMissingFile, type LogRow } from '@standin/contract';
import { decodeRow, encodeRow, LOG_COLUMNS, projectUidAt, RowBinaryReader } from '@standin/logstore';
import type { RowBatch } from '../record/spool/row-buffer.ts';
import { decodeHeader, FRAME_HEAD_BYTES, HEADER_BYTES, idKeyAt, readParts } from '../record/spool/segment-format.ts';

/** A request that was recorded before its response. The response may be in any later record, or missing. */
export interface RequestRecord {
  /** The bytes of the id (see `idKeyAt`). */
  readonly idKey: string;
  readonly projectUid: string;
  /** The position of the request's row in the segment. */
  readonly start: number;
  readonly end: number;
  readonly mayHaveText: boolean;
}

/** Rows as they are in a segment. */
export interface StoredBatch extends RowBatch {
  readonly columnCount: number;
  /** The indexes of the rows with a body that may have a text that is not its bytes. */
  readonly withText: readonly number[];
}

/** Segment bytes that are not a valid record. */
export interface Damage {
  readonly kind: 'corrupt' | 'torn' | 'header';
  readonly offset: number;
  readonly bytes: Buffer;
}

/** The segment content that delivery needs. */
export interface SegmentContent {
  /** The file size. */
  readonly bytes: number;
  /** The complete exchanges, ready to insert. */
  readonly exchanges: StoredBatch;
  readonly requests: readonly RequestRecord[];
  /** Ids of exchanges whose requests are also stored as records. */
  readonly respondedKeys: readonly string[];
  readonly damage: readonly Damage[];
}

/** The number of bytes to check and move before yielding to other work. Takes well under a millisecond. */
const BYTES_PER_TURN = 1024 * 1024;
/** The number of rows to decode or encode before yielding to other work. */
const ROWS_PER_TURN = 50;

const requestAt = (
  segment: Buffer,
  { start, end, mayHaveText }: Omit<RequestRecord, 'idKey' | 'projectUid'>,
): RequestRecord => ({
  idKey: idKeyAt(segment, start),
  projectUid: projectUidAt(segment, start),
  start,
  end,
  mayHaveText,
});

/** Returns undefined if the file does not exist. */
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
    if (isMissingFile(error)) return undefined;
    throw error;
  }
};

const headerDamage = (segment: Buffer): SegmentContent => ({
  bytes: segment.length,
  exchanges: { rows: Buffer.alloc(0), ends: [], columnCount: 0, withText: [] },
  requests: [],
  respondedKeys: [],
  // A segment that is shorter than a header is not damaged. The process or the machine failed while the header was being written.
  damage: segment.length < HEADER_BYTES ? [] : [{ kind: 'header', offset: 0, bytes: Buffer.from(segment) }],
});

/**
 * Reads a segment and checks every record. Returns undefined if the file does not exist. Uses the memory of `spare` if `spare` is
 * large enough. `exchanges` is a view of the same memory, in which the rows are moved together, over the bytes between them.
 */
export const readSegment = async (file: string, spare?: Buffer): Promise<SegmentContent | undefined> => {
  const segment = await readWhole(file, spare);
  if (segment === undefined) return undefined;
  const header = decodeHeader(segment);
  if (header === undefined) return headerDamage(segment);
  const requests: RequestRecord[] = [];
  const respondedKeys: string[] = [];
  const damage: Damage[] = [];
  const ends: number[] = [];
  const withText: number[] = [];
  let rowsEnd = 0;
  let turnEnd = BYTES_PER_TURN;
  for (const part of readParts(segment, header)) {
    const { start, end } = part;
    if (part.kind !== 'record')
      damage.push({ kind: part.kind, offset: start, bytes: Buffer.from(segment.subarray(start, end)) });
    else if (part.type === 'request') requests.push(requestAt(segment, part));
    else {
      if (part.mayHaveText) withText.push(ends.length);
      if (part.type === 'response') respondedKeys.push(idKeyAt(segment, start));
      // The copy never overwrites unread bytes, because a row is shorter than its frame and the first row follows the header.
      segment.copyWithin(rowsEnd, start, end);
      rowsEnd += end - start;
      ends.push(rowsEnd);
    }
    if (end < turnEnd) continue;
    turnEnd = end + BYTES_PER_TURN;
    await nextTurn();
  }
  const { columnCount } = header;
  const exchanges = { rows: segment.subarray(0, rowsEnd), ends, columnCount, withText };
  return { bytes: segment.length, exchanges, requests, respondedKeys, damage };
};

/** Some requests in a segment. */
interface FoundRequests {
  readonly segment: Buffer;
  readonly columnCount: number;
  readonly requests: readonly RequestRecord[];
}

/**
 * Finds requests in a segment by their ids, because a replacement of the file that failed may have moved them. Returns undefined if the
 * file does not exist or has no valid header.
 */
const findRequests = async (
  file: string,
  wanted: ReadonlyMap<string, RequestRecord>,
): Promise<FoundRequests | undefined> => {
  const segment = await readWhole(file, undefined);
  const header = segment === undefined ? undefined : decodeHeader(segment);
  if (segment === undefined || header === undefined) return undefined;
  const requests: RequestRecord[] = [];
  let turnEnd = BYTES_PER_TURN;
  for (const part of readParts(segment, header)) {
    const { start, end } = part;
    if (part.kind === 'record' && part.type === 'request' && wanted.has(idKeyAt(segment, start)))
      requests.push(requestAt(segment, part));
    if (end < turnEnd) continue;
    turnEnd = end + BYTES_PER_TURN;
    await nextTurn();
  }
  return { segment, columnCount: header.columnCount, requests };
};

/** Returns the rows of these requests in a segment as a batch, or undefined if the file does not exist or has no valid header. */
export const readRequests = async (
  file: string,
  wanted: ReadonlyMap<string, RequestRecord>,
): Promise<StoredBatch | undefined> => {
  const found = await findRequests(file, wanted);
  if (found === undefined) return undefined;
  const { segment, columnCount, requests } = found;
  let rowsEnd = 0;
  const ends = requests.map(({ start, end }) => (rowsEnd += end - start));
  const rows = Buffer.concat(requests.map(({ start, end }) => segment.subarray(start, end)));
  return { rows, ends, columnCount, withText: indexesWithText(requests) };
};

const indexesWithText = (requests: readonly RequestRecord[]): readonly number[] =>
  [...requests.keys()].filter((index) => requests[index]?.mayHaveText);

/** A segment that contains only some requests of another one. */
interface CompactedSegment {
  readonly content: Buffer;
  /** The requests at their new positions. */
  readonly requests: readonly RequestRecord[];
  /** The rows of the requests. */
  readonly rows: readonly LogRow[];
}

/**
 * Returns a segment that contains only these requests of a segment, whose rows have the columns of this version. Returns undefined if
 * the file does not exist or has no valid header. Rejects if a request is not in the file.
 */
export const readCompacted = async (
  file: string,
  wanted: ReadonlyMap<string, RequestRecord>,
): Promise<CompactedSegment | undefined> => {
  const found = await findRequests(file, wanted);
  if (found === undefined) return undefined;
  const { segment, requests } = found;
  if (requests.length < wanted.size) throw new Error('the segment has lost a request');
  const frames = requests.map(({ start, end }) => segment.subarray(start - FRAME_HEAD_BYTES, end));
  let at = HEADER_BYTES;
  const moved = requests.map(({ start, end, ...request }) => {
    const from = at + FRAME_HEAD_BYTES;
    at = from + end - start;
    return { ...request, start: from, end: at };
  });
  const rows: LogRow[] = [];
  for (const { start, end } of requests) {
    rows.push(decodeRow(new RowBinaryReader(segment.subarray(start, end))));
    if (rows.length % ROWS_PER_TURN === 0) await nextTurn();
  }
  return { content: Buffer.concat([segment.subarray(0, HEADER_BYTES), ...frames]), requests: moved, rows };
};

/**
 * Returns the rows that show these requests while they are in progress. The row of the request that is stored later replaces each of
 * them.
 */
export const inProgressBatch = async ({ requests, rows: stored }: CompactedSegment): Promise<StoredBatch> => {
  const rows: Buffer[] = [];
  for (const row of stored) {
    rows.push(encodeRow({ ...row, version: 0, outcome: 'in_progress' }));
    if (rows.length % ROWS_PER_TURN === 0) await nextTurn();
  }
  let end = 0;
  return {
    rows: Buffer.concat(rows),
    ends: rows.map((row) => (end += row.length)),
    columnCount: LOG_COLUMNS.length,
    withText: indexesWithText(requests),
  };
};
