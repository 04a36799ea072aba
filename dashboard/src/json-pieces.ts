import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Maximum length of a string piece, in characters. Encoding a piece takes a few milliseconds at most, even if each character
 * becomes a six-character escape.
 */
const PIECE_CHARS_MAX = 64 * 1024;

/** Never splits a surrogate pair, because JSON would escape each half. */
const pieceEnd = (text: string, from: number): number => {
  const end = Math.min(text.length, from + PIECE_CHARS_MAX);
  return end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
};

const escaped = function* (text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const end = pieceEnd(text, at);
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
};

/**
 * Works like `JSON.stringify`, but yields the text in pieces. Otherwise, a body of 10 MiB could block the event loop for up to a
 * second. A value without long strings is a single piece.
 */
export const jsonPieces = function* (value: unknown, indent?: number): Generator<string> {
  const long: string[] = [];
  // The mark is random, so that captured data cannot contain it.
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

/** Yields pieces on demand, so that other work can run in between. */
export async function* jsonStream(value: unknown, indent?: number): AsyncGenerator<string> {
  let isFirst = true;
  for (const piece of jsonPieces(value, indent)) {
    if (!isFirst) await nextTurn();
    isFirst = false;
    yield piece;
  }
}
