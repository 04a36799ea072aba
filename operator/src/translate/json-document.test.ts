import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonFault } from './json-document.ts';

describe('jsonFault', () => {
  it.each([
    ['', 1, 1, 'expected a value, found the end of the text'],
    ['{"id": }', 1, 8, 'expected a value, found }'],
    ['{"id": 1,}', 1, 10, 'expected a key in double quotes, found }'],
    ['[1, 2', 1, 6, 'expected , or the closing bracket, found the end of the text'],
    ['{\n  "a": True\n}', 2, 8, 'expected a value, found True'],
    ["{'a': 1}", 1, 2, "expected a key in double quotes or }, found ' (JSON strings need double quotes)"],
    ['{a: 1}', 1, 2, 'expected a key in double quotes or }, found a'],
    ['{"a": 01}', 1, 7, 'expected a value, found 01'],
    ['{} {}', 1, 4, 'expected the end of the document, found {'],
    [
      '"a\nb"',
      1,
      1,
      'expected a value, found a string that is not closed, or contains a line break or an invalid escape',
    ],
    ['[1}', 1, 3, 'expected , or the closing bracket, found }'],
    ['\ufeff{}', 1, 1, 'expected a value, found U+feff'],
    ['{"a" 1}', 1, 6, 'expected :, found 1'],
  ])('%j has an error at line %d, column %d', (text, line, column, message) => {
    expect(jsonFault(text)).toEqual({ line, column, message });
  });

  it('agrees with JSON.parse on any text, and its position is in the text', () => {
    const almost = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '}', '"', '\n', 'x', '{'))
      .map(([text, at, insert]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + insert + text.slice(place + 1);
      });
    fc.assert(
      fc.property(fc.oneof(fc.json(), almost, fc.string()), (text) => {
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        const fault = jsonFault(text);
        expect(fault === undefined).toBe(valid);
        if (fault === undefined) return;
        const lines = text.split('\n');
        expect(fault.line).toBeLessThanOrEqual(lines.length);
        expect(fault.column).toBeLessThanOrEqual((lines[fault.line - 1] ?? '').length + 1);
      }),
      { numRuns: 2_000 },
    );
  });

  it('handles a long string and deep nesting', () => {
    expect(jsonFault(`{"a": "${'x'.repeat(200_000)}",}`)).toMatchObject({ line: 1, column: 200_010 });
    expect(jsonFault('['.repeat(100_000))).toMatchObject({ column: 100_001 });
  });
});
