import { hasControls } from '@standin/contract';
import { decodeUtf8, latin1Bytes } from './wire-bytes.ts';

/** Quotes text for a shell. Between single quotes, a shell takes every character literally except the quote itself. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Returns whether text can be pasted into a terminal unchanged. Control characters would act on the terminal or on the line editor
 * before the shell sees them. For example, a tab completes a word, a carriage return ends the line, and an escape ends a bracketed
 * paste. Controls that reorder text would show a different command from the one that runs.
 */
export const isPasteable = (text: string): boolean => !hasControls(text.replaceAll('\n', ''));

const octal = (byte: number): string => `\\${byte.toString(8).padStart(3, '0')}`;
const isPlain = (byte: number): boolean => byte >= 0x20 && byte < 0x7f;

/**
 * Returns any bytes except NUL and line endings as one word for a POSIX shell. The input is latin1, with one byte per character.
 * UTF-8 stays readable. Bytes that a terminal does not accept become `"$(printf '\351')"`.
 */
export const shellWord = (latin1: string): string => {
  const bytes = latin1Bytes(latin1);
  const text = decodeUtf8(bytes);
  if (text !== undefined && isPasteable(text)) return shellQuote(text);
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const isPlainRun = isPlain(bytes[at] ?? 0);
    let end = at;
    while (end < bytes.length && isPlain(bytes[end] ?? 0) === isPlainRun) end += 1;
    pieces.push(
      isPlainRun
        ? shellQuote(latin1.slice(at, end))
        : `"$(printf '${[...bytes.subarray(at, end)].map(octal).join('')}')"`,
    );
    at = end;
  }
  return pieces.join('');
};
