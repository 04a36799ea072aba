import { LIMITS, type BodyTexts } from '@standin/contract';
import { bodyText } from '@standin/exchange/decode';
import { bodyTextsSize, decodeRowStart, namespaceAt, putBodyTexts, RowBinaryReader } from '@standin/logstore';
import { isWorkerThread, move } from 'piscina';
import type { StoredBatch } from './read-segment.ts';

/** What a worker needs of a `StoredBatch`. */
export interface BodyTextInput extends Pick<StoredBatch, 'ends' | 'withText'> {
  readonly rows: Uint8Array;
}

const NOTHING = new Uint8Array(0);
const NO_TEXTS: BodyTexts = { requestText: NOTHING, responseText: NOTHING };
/** What a namespace can use in a round, in which each namespace has its turn. */
const ROUND_UNITS = LIMITS.segmentTextUnitsMax / 40;
/** To decode a row, and to create and to end a decoder for each of its bodies. */
const ROW_UNITS = 4_000;

/** The rows of one namespace. */
interface Queue {
  readonly indexes: readonly number[];
  next: number;
  spent: number;
}

/**
 * Returns the rows, each followed by the texts of its bodies (`putBodyTexts`). Always returns the same bytes for the same rows. So a text
 * is empty depending on what decoding takes by estimate, not by the clock: if the rows take more than `LIMITS.segmentTextUnitsMax`, each
 * namespace gets the same share.
 */
export const addBodyTexts = ({ rows, ends, withText }: BodyTextInput): Uint8Array<ArrayBuffer> => {
  const stored = Buffer.from(rows.buffer, rows.byteOffset, rows.length);
  const startOfRow = (index: number): number => ends[index - 1] ?? 0;
  const namespaces = Map.groupBy(withText, (index) => namespaceAt(stored, startOfRow(index)));
  const queues = Array.from(namespaces.values(), (indexes): Queue => ({ indexes, next: 0, spent: 0 }));
  const texts = decodeByTurns(queues, (index, charge) =>
    readTexts(stored.subarray(startOfRow(index), ends[index]), charge),
  );
  const textBytes = ends.reduce((sum, _, index) => sum + bodyTextsSize(texts.get(index) ?? NO_TEXTS), 0);
  const result = Buffer.allocUnsafeSlow(rows.length + textBytes);
  let at = 0;
  for (const [index, end] of ends.entries()) {
    at += stored.copy(result, at, startOfRow(index), end);
    at = putBodyTexts(result, texts.get(index) ?? NO_TEXTS, at);
  }
  return isWorkerThread ? (move(result) as typeof result) : result;
};

const decodeByTurns = (
  queues: readonly Queue[],
  decode: (index: number, charge: (units: number) => void) => BodyTexts,
): ReadonlyMap<number, BodyTexts> => {
  const texts = new Map<number, BodyTexts>();
  let spent = 0;
  let waiting = queues;
  for (let allowed = ROUND_UNITS; waiting.length > 0; allowed += ROUND_UNITS) {
    for (const queue of waiting) {
      while (queue.spent < allowed && queue.next < queue.indexes.length) {
        if (spent >= LIMITS.segmentTextUnitsMax) return texts;
        const index = queue.indexes[queue.next++] ?? 0;
        const before = queue.spent;
        texts.set(
          index,
          decode(index, (units) => (queue.spent += units)),
        );
        spent += queue.spent - before;
      }
    }
    waiting = waiting.filter(({ next, indexes }) => next < indexes.length);
  }
  return texts;
};

const readTexts = (stored: Buffer, charge: (units: number) => void): BodyTexts => {
  charge(ROW_UNITS);
  const row = decodeRowStart(new RowBinaryReader(stored));
  const options = { bytesMax: LIMITS.bodyTextBytesMax, charge };
  const texts = {
    requestText: bodyText(row.requestHeaders, row.requestBody, options) ?? NOTHING,
    responseText: bodyText(row.responseHeaders, row.responseBody, options) ?? NOTHING,
  };
  // To insert and index a byte takes ClickHouse about as long as a unit.
  charge(texts.requestText.length + texts.responseText.length);
  return texts;
};
