import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasControls, printable, printableJson } from './printable.ts';

/** Control characters of every class, with their escapes. */
const CONTROLS: readonly (readonly [string, string])[] = [
  ['\0', String.raw`\x00`],
  ['\t', String.raw`\x09`],
  ['\n', String.raw`\x0a`],
  ['\x1b[31m', String.raw`\x1b[31m`],
  ['\x7f', String.raw`\x7f`],
  ['\x80', String.raw`\x80`],
  ['\x9b31m', String.raw`\x9b31m`],
  ['\x9f', String.raw`\x9f`],
  ['\u061c', String.raw`\u061c`],
  ['\u200e\u200f', String.raw`\u200e\u200f`],
  ['\u2028\u2029', String.raw`\u2028\u2029`],
  ['\u202a\u202e', String.raw`\u202a\u202e`],
  ['\u2066\u2069', String.raw`\u2066\u2069`],
];
const PRINTABLE = ['', ' ~', '\xa0café', '日本語', '👩‍👧', 'عربي', String.raw`\x1b`];

/** Generates text in which every class of control character is likely. */
const text = fc
  .array(fc.oneof(fc.constantFrom(...CONTROLS.map(([control]) => control)), fc.string({ unit: 'binary' })))
  .map((parts) => parts.join(''));

/** Explicit ranges, as an independent check of the Unicode properties. */
const RANGES = [
  [0, 0x1f],
  [0x7f, 0x9f],
  [0x61c, 0x61c],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2066, 0x2069],
] as const;
const controlsIn = (shown: string): string[] =>
  shown.split('').filter((unit) => RANGES.some(([from, to]) => unit.charCodeAt(0) >= from && unit.charCodeAt(0) <= to));

describe('printable', () => {
  test.each(CONTROLS)('shows %j as %s', (control, shown) => {
    expect(printable(`a${control}b`)).toBe(`a${shown}b`);
    expect(hasControls(control)).toBe(true);
  });

  test.each(PRINTABLE)('keeps %j', (shown) => {
    expect(printable(shown)).toBe(shown);
    expect(hasControls(shown)).toBe(false);
  });

  test('leaves no control characters in any text', () => {
    fc.assert(
      fc.property(text, (any) => {
        const shown = printable(any);
        expect(controlsIn(shown)).toEqual([]);
        expect(stripVTControlCharacters(shown)).toBe(shown);
        expect(printable(shown)).toBe(shown);
        expect(hasControls(any)).toBe(shown !== any);
      }),
    );
  });
});

describe('printableJson', () => {
  test('preserves the meaning of any value and leaves no control characters', () => {
    fc.assert(
      fc.property(fc.dictionary(text, text), (value) => {
        const json = printableJson(JSON.stringify(value));
        expect(JSON.parse(json)).toEqual(value);
        expect(controlsIn(json)).toEqual([]);
      }),
    );
  });

  test('preserves the line break after the value', () => {
    expect(printableJson('{"a":"\x9b"}\n')).toBe('{"a":"\\u009b"}\n');
  });
});
