import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Of a string, in characters: JSON of so many takes at most some milliseconds, even where each becomes an escape of six. */
const PIECE_CHARS_MAX = 64 * 1024;

/** Where the piece ends that begins at `from`. Not between the halves of a surrogate pair: JSON would escape each. */
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
 * `JSON.stringify` in pieces, for values with bodies in them: 10 MiB at once take up to a second. The pieces together are the same text. A
 * value without a long string is one piece.
 */
export const jsonPieces = function* (value: unknown, indent?: number): Generator<string> {
  const long: string[] = [];
  // Chosen now, so nothing that was captured has it.
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

/** The pieces as they are asked for; others get their turn between two of them. */
export async function* jsonStream(value: unknown, indent?: number): AsyncGenerator<string> {
  let isFirst = true;
  for (const piece of jsonPieces(value, indent)) {
    if (!isFirst) await nextTurn();
    isFirst = false;
    yield piece;
  }
}
