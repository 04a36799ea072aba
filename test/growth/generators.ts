/** Creates a hostile text of about `length` characters. */
export type Generator = (length: number) => string;
export type Generators = Readonly<Record<string, Generator>>;

export const repeated =
  (piece: string): Generator =>
  (length) =>
    piece.repeat(Math.max(1, Math.floor(length / piece.length)));

/** Wraps generated text, often so that it almost matches a pattern. */
export const framed =
  (before: string, middle: Generator, after = ''): Generator =>
  (length) =>
    before + middle(Math.max(1, length - before.length - after.length)) + after;

/** Generates openings, followed by the same number of closings. */
export const nested =
  (open: string, close: string, inner = ''): Generator =>
  (length) => {
    const depth = Math.max(1, Math.floor(length / (open.length + close.length)));
    return open.repeat(depth) + inner + close.repeat(depth);
  };

/** Generates distinct pieces, such as `k0` and `k1`. */
export const distinct =
  (piece: (index: number) => string): Generator =>
  (length) => {
    const pieces: string[] = [];
    for (let index = 0, total = 0; total < length; index += 1) {
      const next = piece(index);
      pieces.push(next);
      total += next.length;
    }
    return pieces.join('');
  };

/** Texts for every function that reads text, with many delimiters, deep nesting, long lines, repeated prefixes or escapes. */
export const TEXTS: Generators = {
  'one long word': repeated('a'),
  'a word with an invalid last character': framed('', repeated('a'), '!'),
  digits: repeated('1'),
  spaces: framed('a', repeated(' '), 'a'),
  tabs: framed('', repeated('\t '), 'x'),
  'empty lines': repeated('\r\n'),
  'short lines': repeated('a: b\n'),
  'open brackets': repeated('['),
  'open braces': repeated('{"a":'),
  'nested arrays': nested('[', ']'),
  'nested objects': nested('{"a":', '}', '1'),
  quotes: repeated('"'),
  'an unclosed quote': framed('"', repeated('a b ')),
  backslashes: framed('"', repeated('\\')),
  'escaped quotes': framed('"', repeated('\\"')),
  'percent escapes': repeated('%25'),
  'query parameters': distinct((index) => `k${index}=v&`),
  delimiters: repeated('--=;,:&'),
  tags: repeated('<a b="c">'),
  stars: repeated('*a'),
  'non-ASCII letters': repeated('é€'),
};

/** Inputs for functions that treat every byte in the same way. */
export const BYTES: Generators = {
  letters: repeated('a'),
  'non-ASCII letters': repeated('é€'),
  'control characters': repeated('\x1b\x9b'),
};
