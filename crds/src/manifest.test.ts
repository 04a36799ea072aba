import { expect, describe, it } from 'vitest';
import { decodeManifest, ManifestEncodingError, parseManifest } from './manifest.ts';

const parsedValue = (yaml: string): unknown => parseManifest(yaml).documents[0]?.value;

describe('parseManifest', () => {
  it('returns each document with the line of its first key', () => {
    const { documents, problems } = parseManifest('# a comment\na: 1\n---\n---\n# nothing\n---\n\nb: 2\n');
    expect(problems).toEqual([]);
    expect(documents.map(({ value, line }) => [value, line])).toEqual([
      [{ a: 1 }, 2],
      [{ b: 2 }, 8],
    ]);
  });

  it('skips only the broken document, and reports the position of the error', () => {
    const { documents, problems } = parseManifest('a: 1\n---\nb: [\n---\nc: 3\nc: 4\n---\nd: *x\n---\ne: 5\n');
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { e: 5 }]);
    expect(problems.map(({ line }) => line)).toEqual([4, 6, 8]);
  });

  // A call takes at most about 100,000 arguments, so passing all items to one call would cause a RangeError.
  it('splits a List with thousands of items', () => {
    const { documents, problems } = parseManifest(`apiVersion: v1\nkind: List\nitems:\n${'- 1\n'.repeat(150_000)}`);
    expect([documents.length, problems]).toEqual([150_000, []]);
  });

  it('splits a List into its items', () => {
    const { documents } = parseManifest('apiVersion: v1\nkind: List\nitems:\n- a: 1\n- b:\n    c: 2\n');
    expect(documents.map(({ value, line }) => [value, line])).toEqual([
      [{ a: 1 }, 4],
      [{ b: { c: 2 } }, 5],
    ]);
    expect(documents[1]?.fieldLine(['b', 'c'])).toBe(6);
  });

  it('finds the line of a field, or of its nearest parent', () => {
    const [document] = parseManifest('a:\n  b:\n    - c: 1\n      d: 2\n').documents;
    expect(document?.fieldLine(['a', 'b', 0, 'd'])).toBe(4);
    expect(document?.fieldLine(['a', 'b', 7, 'x'])).toBe(3);
    expect(document?.fieldLine(['z'])).toBe(1);
  });

  it('refuses an alias bomb quickly', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefgh'.split('').map((name, level) => {
        const below = `*${String.fromCharCode(97 + level)}`;
        return `${name}: &${name} [${Array<string>(9).fill(below).join(',')}]`;
      }),
    ].join('\n');
    expect(parseManifest(bomb)).toMatchObject({ documents: [], problems: [{ line: 1 }] });
  });

  it.each([
    ['many aliases of small values', `a: &a x\nb: [${'*a,'.repeat(1_001)}]`, 'has more than 1000 aliases'],
    [
      'aliases of large values',
      `a: &a [${'x,'.repeat(3_000)}]\nb: [${'*a,'.repeat(100)}]`,
      'its aliases expand to more than 250000 values',
    ],
    ['a duplicate key in a mapping', 'a: 1\nb: 2\na: 3', 'Map keys must be unique'],
  ])('refuses %s', (_, text, message) => {
    const { documents, problems } = parseManifest(`${text}\n---\nok: true\n`);
    expect(problems).toMatchObject([{ message }]);
    expect(documents).toMatchObject([{ value: { ok: true } }]);
  });

  it.each([
    ['collections', '['.repeat(110) + ']'.repeat(110)],
    ['collections that are never closed', '['.repeat(100_000)],
    ['mappings', '{a: '.repeat(110) + '}'.repeat(110)],
    ['indented mappings', Array.from({ length: 110 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join('')],
    ['lists of dashes', '- '.repeat(110)],
  ])('does not read %s that are nested deeper than 100 levels', (_, text) => {
    const { documents, problems } = parseManifest(`ok: true\n---\n${text}`);
    expect(documents).toMatchObject([{ value: { ok: true } }]);
    expect(problems).toMatchObject([
      { message: 'is nested more than 100 levels deep; the rest of the file is not read' },
    ]);
  });

  it('reads text without a digit as text', () => {
    expect(parsedValue('E0: [., -.e1, ._, e+5, .5, 1., 1e3]')).toEqual({
      E0: ['.', '-.e1', '._', 'e+5', 0.5, 1, 1000],
    });
  });

  it('accepts merge keys and up to 100 levels', () => {
    expect(parsedValue('a: &a {p: 1}\nb: &b {q: 2}\nc: {<<: *a, <<: *b, r: 3}')).toMatchObject({
      c: { p: 1, q: 2, r: 3 },
    });
    expect(parseManifest(`a: ${'['.repeat(99)}${']'.repeat(99)}`).problems).toEqual([]);
  });

  it('reads JSON, which is also YAML', () => {
    expect(parsedValue('{"a": [1, "2"], "b": {"c": null}}')).toEqual({ a: [1, '2'], b: { c: null } });
  });

  it('does not change a block of text', () => {
    expect(parsedValue('body: |\n  {\n    "a": 1.0\n  }\n')).toEqual({ body: '{\n  "a": 1.0\n}\n' });
  });
});

describe('the text of a file', () => {
  it.each(['', 'a: \u{1f600}\n', '\ufeffa: 1', 'a: \ufffd'])('is read if it is UTF-8: %j', (text) => {
    expect(decodeManifest(Buffer.from(text))).toBe(text);
  });

  it.each([
    ['Latin-1', Buffer.from('a: 1\nb: caf\xe9\nc: 2\n', 'latin1'), 2],
    ['UTF-16 with a byte order mark', Buffer.from('\ufeffa: 1\n', 'utf16le'), 1],
    ['a sequence that is cut off', Buffer.from('a: 1\nb: 2\n\u20ac').subarray(0, -1), 3],
    ['an overlong sequence', Buffer.from([0x0a, 0xc0, 0x80]), 2],
    ['a surrogate', Buffer.from([0x0a, 0x0a, 0xed, 0xa0, 0x80]), 3],
    [
      'a character that cannot be read after one that stands for it',
      Buffer.concat([Buffer.from('\ufffd\n'), Buffer.from([0xff])]),
      2,
    ],
  ])('is an error with its line if it is not UTF-8: %s', (_, bytes, line) => {
    expect(() => decodeManifest(bytes)).toThrow(new ManifestEncodingError(line));
    try {
      decodeManifest(bytes);
    } catch (error) {
      expect((error as ManifestEncodingError).line).toBe(line);
    }
  });
});
