import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatJson, isJson } from './format-json.ts';

/** Removes all whitespace outside strings. */
const compact = (text: string): string =>
  text.replace(/("(?:[^"\\]|\\[^])*(?:"|\\?$))|[ \t\r\n]+/g, (_, string: string | undefined) => string ?? '');

describe('formatJson', () => {
  it('keeps literals, escapes and keys', () => {
    const text = '{"id":12345678901234567890,"a":1.0,"a":-0e+5,"b\\u00e9":"\\/ x","e":{},"l":[ ],"n":[null,true]}';
    expect(formatJson(text)).toBe(
      [
        '{',
        '  "id": 12345678901234567890,',
        '  "a": 1.0,',
        '  "a": -0e+5,',
        '  "b\\u00e9": "\\/ x",',
        '  "e": {},',
        '  "l": [],',
        '  "n": [',
        '    null,',
        '    true',
        '  ]',
        '}',
      ].join('\n'),
    );
  });

  it('changes only whitespace between tokens, in any JSON', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('', ' ', '\n\t'), (json, space) => {
        const text = json.replaceAll(',', `${space},`);
        expect(compact(formatJson(text) ?? '')).toBe(compact(text));
        expect(isJson(formatJson(json) ?? '')).toBe(true);
      }),
    );
  });

  it('accepts truncated JSON and other text', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, at) => {
        const text = json.slice(0, at % (json.length + 1));
        expect(compact(formatJson(text) ?? '')).toBe(compact(text));
      }),
    );
    expect(formatJson('}}]"\\')).toBe('\n}\n}\n]"\\');
  });

  it('returns undefined if most of the result would be indentation', () => {
    expect(formatJson('['.repeat(100_000))).toBeUndefined();
  });
});
