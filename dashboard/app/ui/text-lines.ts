import { alignItems } from './align-items.ts';

const LINE_BREAK = /\r\n?|\n/g;

/** Converts line breaks to LF, because browsers always submit text areas with CRLF. */
export const lineFeeds = (text: string): string => text.replaceAll(LINE_BREAK, '\n');

/** HTML cannot contain NUL. Browsers show this character instead. */
const asInHtml = (line: string): string => line.replaceAll('\0', '\uFFFD');

/**
 * Returns the text of a text area with the line breaks of the text that filled it, and with its NUL characters. A text area has only
 * one kind of line break. A new line gets the line break of the line before it.
 *
 * @param edited the text with LF
 */
export const restoreLines = (edited: string, saved: string): string => {
  const breaks = saved.match(LINE_BREAK) ?? [];
  const before = lineFeeds(saved).split('\n');
  const lines = edited.split('\n');
  const origins = alignItems(lines, before, [asInHtml]);
  let lineBreak = breaks[0] ?? '\n';
  return lines
    .map((line, index) => {
      const origin = origins[index] ?? -1;
      const was = before[origin] ?? line;
      lineBreak = breaks[origin] ?? lineBreak;
      return `${asInHtml(was) === line ? was : line}${index === lines.length - 1 ? '' : lineBreak}`;
    })
    .join('');
};

/**
 * Returns the saved text if the field for it was not edited. Browsers remove line breaks from a field of one line, and forms remove
 * the white space around its text.
 */
export const savedLine = (text: string, saved: unknown): string =>
  typeof saved === 'string' && saved.replaceAll(/[\r\n]/g, '').trim() === text ? saved : text;

/** Like `savedLine`, for a field of several lines. If the text was edited, the line breaks of the saved text are kept. */
export const savedLines = (text: string, saved: unknown): string => {
  if (typeof saved !== 'string') return text;
  return lineFeeds(saved).trim() === text ? saved : restoreLines(text, saved.trim());
};

/** Removes spaces and tabs around a text. Other white space is part of it: in UTF-8, the last byte of `à` is a space in Latin-1. */
export const withoutPadding = (text: string): string => {
  // A regular expression such as /[ \t]+$/ takes quadratic time.
  let start = 0;
  let end = text.length;
  while (start < end && isPadding(text, start)) start++;
  while (end > start && isPadding(text, end - 1)) end--;
  return text.slice(start, end);
};

const isPadding = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t';

/** Returns the lines that are not blank, without spaces and tabs around them. `number` is the line's number in the text, from 1. */
export const filledLines = (text: string): { readonly number: number; readonly text: string }[] =>
  lineFeeds(text)
    .split('\n')
    .map((line, index) => ({ number: index + 1, text: withoutPadding(line) }))
    .filter((line) => line.text !== '');
