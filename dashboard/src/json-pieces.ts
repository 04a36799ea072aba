import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** String length in characters. The JSON of this many takes at most a few milliseconds, even if each becomes an escape of six characters. */
const PIECE_CHARS_MAX = 64 * 1024;

/** The end of the piece that begins at `from`. Never splits a surrogate pair, because JSON would escape each half. */
const endOf = (text: string, from: number): number => {
  const end = Math.min(text.length, from + PIECE_CHARS_MAX);
  return end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
};

const escaped = function* (text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const end = endOf(text, at);
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
};

/**
 * `JSON.stringify` in pieces, for values that contain bodies: 10 MiB at once take up to a second. The pieces together are the same text. A value
 * without a long string is one piece.
 */
export const jsonPieces = function* (value: unknown, indent?: number): Generator<string> {
  const long: string[] = [];
  // Generated now, so that captured data cannot contain it.
  const mark = randomUUID();
  const take = (_: string, item: unknown): unknown => {
    if (typeof item !== 'string' || item.length <= PIECE_CHARS_MAX) return item;
    long.push(item);
    return mark;
  };
  const parts = JSON.stringify(value, take, indent).split(`"${mark}"`);
  for (const [index, part] of parts.entries()) {
    yield part;
    const text = long[index];
    if (text === undefined) continue;
    yield '"';
    yield* escaped(text);
    yield '"';
  }
};

/** Yields the pieces on demand. Other work runs between two of them. */
export async function* jsonStream(value: unknown, indent?: number): AsyncGenerator<string> {
  let isFirst = true;
  for (const piece of jsonPieces(value, indent)) {
    if (!isFirst) await nextTurn();
    isFirst = false;
    yield piece;
  }
}
