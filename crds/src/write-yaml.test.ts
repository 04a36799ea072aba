import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Document, parse, parseDocument, visit, type Scalar, type ToStringOptions } from 'yaml';
import { writeYaml } from './write-yaml.ts';

const OPTIONS = { version: '1.1' } as const;

const written = (value: unknown, options?: ToStringOptions): string => writeYaml(new Document(value, OPTIONS), options);

it.each<[string, unknown]>([
  ['one blank line', ' \n'],
  ['blank lines', '\n\n '],
  ['blank lines, then a tab', '\n \n\t'],
  ['only line breaks', '\n'.repeat(100)],
  ['a line of one space in a long text', `${'a\n'.repeat(30)} \nb`],
  ['spaces before line breaks', `${'a  \n'.repeat(30)}\r`],
  ['spaces after line breaks', '\r\n  a'.repeat(30)],
  ['a backslash at the end of a line', `${'a\\\n'.repeat(30)}\0`],
  ['a backslash before an n', `${'\\n'.repeat(30)}\0`],
  ['a tab at the beginning of a line', '\n\ta\n'],
  ['a byte order mark', ':\n\ufeffa'],
  ['a noncharacter', 'a\uffff'],
  ['a line separator', 'a\n\u2028b\n'],
  ['a document marker', `${'---\n...\n'.repeat(30)}\0`],
])('keeps %s, as a value, in a list and as a key', (_, text) => {
  const value = { a: text, list: [text, { b: text }], [String(text)]: text, last: text };
  for (const indent of [2, 4]) {
    for (const indentSeq of [true, false]) {
      expect(parse(written(value, { indent, indentSeq, blockQuote: 'literal' }), OPTIONS)).toEqual(value);
    }
  }
});

// kubectl rejects a block that begins with a tab.
it('does not write a block that begins with a tab', () => {
  expect(written({ a: '\n\ta\n' })).toBe('a: "\\n\\ta\\n"\n');
});

it('keeps spaces at the beginning of a block that is indented by 4', () => {
  const value = { a: { b: '  {\n    "c": 1\n  }\n' } };
  expect(parse(written(value, { indent: 4 }), OPTIONS)).toEqual(value);
});

it('writes multi-line text as a block, or line by line', () => {
  const lines = '{\n  "a": 1\n}\n';
  const long = '0123456789'.repeat(4);
  expect(written({ a: { b: lines, c: `${long}\r\n  \u007f\r\n` } })).toBe(
    `a:\n  b: |\n    {\n      "a": 1\n    }\n  c: "${long}\\r\\n\\\n    \\  \\x7f\\r\\n"\n`,
  );
});

it('keeps the author’s quotes, blocks and comments', () => {
  const text = `a: 'x' # why\nb: "on"\nc: |\n  {\n    1\nd: >-\n  x\n\n  y\ne: ' '\nf: 017\n`;
  expect(writeYaml(parseDocument(text, OPTIONS))).toBe(text);
});

// If an edit kept the style of the earlier text, that style might not be able to represent the new text.
it('writes every string so that it is read back unchanged, regardless of its earlier style', () => {
  const unit = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('a', ' ', '\n', '\t') },
    {
      weight: 3,
      arbitrary: fc.constantFrom(...Array.from(':#-|%>"\'\\{\r\0\u007f\u0085\u2028\u202e\ufeff\uffff\u00a0'), '---\n'),
    },
    { weight: 1, arbitrary: fc.constantFrom('\n'.repeat(50), ' '.repeat(50), 'x\n'.repeat(25), 'k'.repeat(1_100)) },
  );
  const text = fc.array(unit, { maxLength: 9 }).map((units) => units.join(''));
  const type = fc.constantFrom<Scalar.Type | undefined>(
    ...[undefined, 'PLAIN' as const, 'BLOCK_LITERAL' as const, 'BLOCK_FOLDED' as const],
    ...['QUOTE_SINGLE' as const, 'QUOTE_DOUBLE' as const],
  );
  const options = fc.record({
    indent: fc.constantFrom(2, 4),
    indentSeq: fc.boolean(),
    blockQuote: fc.constantFrom(true, 'literal' as const),
  });
  fc.assert(
    fc.property(text, type, options, (each, style, how) => {
      const value = { a: each, list: [each, [each], { b: each }], map: { [each]: each, z: 1 } };
      const document = new Document(value, OPTIONS);
      visit(document, {
        Scalar: (_, scalar) => {
          if (style !== undefined && scalar.value === each) scalar.type = style;
        },
      });
      const yaml = writeYaml(document, how);
      expect(yaml).not.toMatch(/[^\P{Cc}\n\t]|[\u2028\u202e\ufeff\uffff]/u);
      expect(parse(yaml, OPTIONS)).toEqual(value);
    }),
    { numRuns: 300 },
  );
});
