import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineFeeds, restoreLines } from './text-lines.ts';

const text = fc.array(fc.constantFrom('a', 'b', '1', '', ' ', '\n', '\r\n', '\r', '\0')).map((parts) => parts.join(''));
/** What a browser submits for a text area that it has filled with this text. */
const submitted = (shown: string): string => lineFeeds(shown).replaceAll('\0', '\uFFFD');

describe('a text from a text area', () => {
  it('is the text that filled it if nothing was edited', () => {
    fc.assert(
      fc.property(text, (saved) => {
        expect(restoreLines(submitted(saved), saved)).toBe(saved);
      }),
    );
  });

  it('keeps everything around one changed line', () => {
    fc.assert(
      fc.property(text, text, fc.constantFrom('\n', '\r\n', '\r'), (before, after, lineBreak) => {
        const saved = `${before}x\n1${lineBreak}-${after}`;
        const edited = submitted(saved).split('\n');
        const line = lineFeeds(`${before}x`).split('\n').length;
        expect(edited[line]).toBe('1');
        edited[line] = '2';
        expect(restoreLines(edited.join('\n'), saved)).toBe(`${before}x\n2${lineBreak}-${after}`);
      }),
    );
  });

  it('keeps everything around two changed lines, however long the text is', () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `${index}${index % 3 === 0 ? '\n' : '\r\n'}`);
    const saved = lines.join('');
    const change = (whole: string): string =>
      whole.replace(/^1(?=\r?\n)/m, 'first').replace(/^4998(?=\r?\n)/m, 'second');
    expect(restoreLines(change(submitted(saved)), saved)).toBe(change(saved));
  });

  it('gives a new line the line break of the line before it', () => {
    expect(restoreLines('a\nnew\nb\nc\nnew', 'a\r\nb\nc')).toBe('a\r\nnew\r\nb\nc\nnew');
  });
});
