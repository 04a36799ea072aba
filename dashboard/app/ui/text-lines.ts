/** Converts line breaks to LF, because browsers always submit text areas with CRLF. */
export const lineFeeds = (text: string): string => text.replaceAll(/\r\n?/g, '\n');

/** Returns the lines that are not blank, without whitespace around them. `number` is the line's number in the text, from 1. */
export const filledLines = (text: string): { readonly number: number; readonly text: string }[] =>
  lineFeeds(text)
    .split('\n')
    .map((line, index) => ({ number: index + 1, text: line.trim() }))
    .filter((line) => line.text !== '');
