import { ownMember } from '@standin/contract';
import { REDACTED } from './credential-shapes.ts';
import { NeedleSearch } from './needle-search.ts';

/** The minimum length of a value in bytes. Shorter values are words that could occur anywhere. */
const LENGTH_MIN = 6;
/** The minimum length in bytes for parts of a structured value, such as the password in Basic credentials, or one cookie. */
const PART_LENGTH_MIN = 8;
/** The length of the shortest beginning of a value that reveals something about it. */
const BEGINNING_MIN = 4;
/** The maximum number of characters in all values and their encodings. The search index uses about 20 bytes per character. */
const NEEDLE_CHARS_MAX = 1024 * 1024;
/** The maximum depth of nested escapes, such as JSON in a form field. */
const DECODINGS_MAX = 2;
/** The minimum length of a value in bytes for its base64 and hexadecimal forms. Shorter forms are not specific enough. */
const BASE64_LENGTH_MIN = 9;

/** The characters of a string, with the position [start, end) of each one in the original string. All characters are bytes. */
interface Bytes {
  readonly chars: string;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

class BytesBuilder {
  readonly #pieces: string[] = [];
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  #length = 0;

  constructor(lengthMax: number) {
    this.#starts = new Int32Array(lengthMax);
    this.#ends = new Int32Array(lengthMax);
  }

  add(bytes: string, start: number, end: number): void {
    this.#pieces.push(bytes);
    for (let index = 0; index < bytes.length; index += 1) this.#place(start, end);
  }

  /** Appends a part of `bytes`, whose characters keep their positions in the original string. */
  copy({ chars, starts, ends }: Bytes, from: number, to: number): void {
    this.#pieces.push(chars.slice(from, to));
    for (let index = from; index < to; index += 1) this.#place(starts[index] ?? 0, ends[index] ?? 0);
  }

  #place(start: number, end: number): void {
    this.#starts[this.#length] = start;
    this.#ends[this.#length] = end;
    this.#length += 1;
  }

  build(): Bytes {
    const [starts, ends] = [this.#starts.subarray(0, this.#length), this.#ends.subarray(0, this.#length)];
    return { chars: this.#pieces.join(''), starts, ends };
  }
}

/**
 * Replaces plus signs with spaces. A plus sign means a space in forms and a plus sign elsewhere, and the search treats both meanings
 * in the same way.
 */
const toSearch = (chars: string): string => chars.replaceAll('+', ' ');

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** `latin1` means that each character is already a byte, as in headers and targets. */
export type TextEncoding = 'utf8' | 'latin1';

/** No UTF-16 code unit takes more than this many bytes in UTF-8. */
const UTF8_BYTES_MAX = 3;
const NON_ASCII = /[^\0-\x7f]/;
const NON_LATIN1 = /[^\0-\xff]/;

const indexedBytes = (text: string, encoding: TextEncoding): Bytes => {
  if (!(encoding === 'latin1' ? NON_LATIN1 : NON_ASCII).test(text)) {
    const starts = new Int32Array(text.length);
    for (let at = 0; at < text.length; at += 1) starts[at] = at;
    return { chars: text, starts, ends: starts.map((at) => at + 1) };
  }
  const builder = new BytesBuilder(text.length * UTF8_BYTES_MAX);
  let at = 0;
  for (const char of text) {
    builder.add(char < '\u0080' ? char : utf8(char), at, at + char.length);
    at += char.length;
  }
  return builder.build();
};

interface Escape {
  readonly mark: string;
  readonly pattern: RegExp;
  readonly decode: (match: RegExpExecArray) => string;
}

const JSON_ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const codePoint = (code: number): string => (code <= 0x10_ff_ff ? utf8(String.fromCodePoint(code)) : '');

const ESCAPES: readonly Escape[] = [
  {
    mark: '%',
    pattern: /%([0-9a-fA-F]{2})/y,
    decode: ([, hex = '']) => String.fromCharCode(Number.parseInt(hex, 16)),
  },
  {
    mark: '\\',
    pattern: /\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([^u]))/y,
    decode: ([, high, low, unit, char = '']) => {
      if (high !== undefined && low !== undefined)
        return utf8(String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16)));
      return unit === undefined ? (ownMember(JSON_ESCAPES, char) ?? char) : codePoint(Number.parseInt(unit, 16));
    },
  },
  {
    mark: '&',
    pattern: /&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));/y,
    decode: ([, decimal, hex, name = '']) => {
      if (decimal !== undefined) return codePoint(Number(decimal));
      return hex === undefined ? (ownMember(ENTITIES, name) ?? '') : codePoint(Number.parseInt(hex, 16));
    },
  },
];

/** Decodes one kind of escape. An escape is never shorter than the text that it stands for. */
const decodeOnce = (bytes: Bytes, { mark, pattern, decode }: Escape): Bytes | undefined => {
  const { chars, starts, ends } = bytes;
  let found = chars.indexOf(mark);
  if (found === -1) return undefined;
  const builder = new BytesBuilder(chars.length);
  let done = 0;
  while (found !== -1) {
    pattern.lastIndex = found;
    const match = pattern.exec(chars);
    const end = found + (match?.[0].length ?? 1);
    if (match !== null) {
      builder.copy(bytes, done, found);
      builder.add(decode(match), starts[found] ?? 0, ends[end - 1] ?? 0);
      done = end;
    }
    found = chars.indexOf(mark, end);
  }
  builder.copy(bytes, done, chars.length);
  return builder.build();
};

/** Returns all readings of a string: the string itself, and the string with each kind of escape decoded, up to `DECODINGS_MAX` times. */
const readings = (bytes: Bytes, depth = 0): readonly Bytes[] => {
  if (depth === DECODINGS_MAX) return [bytes];
  return [
    bytes,
    ...ESCAPES.flatMap((escape) => {
      const decoded = decodeOnce(bytes, escape);
      return decoded === undefined ? [] : readings(decoded, depth + 1);
    }),
  ];
};

/** Returns the bytes of a value in every reading. Most values have no escapes and therefore only one reading. */
const spellings = (value: string, encoding: TextEncoding): readonly string[] => {
  if (/[%\\&]/.test(value)) return readings(indexedBytes(value, encoding)).map(({ chars }) => chars);
  return [encoding === 'latin1' || !NON_ASCII.test(value) ? value : utf8(value)];
};

/**
 * Returns the base64 of the bytes at any position in the encoded data, without the characters that they share with their
 * neighbors.
 */
const base64Forms = (bytes: Buffer): string[] =>
  [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replaceAll('=', '');
    const firstWhole = Math.ceil((shift * 8) / 6);
    const wholeChars = Math.floor(((shift + bytes.length) * 8) / 6);
    const standard = encoded.slice(firstWhole, wholeChars);
    return [standard, standard.replaceAll('+', '-').replaceAll('/', '_')];
  });

const encodedForms = (needle: string): string[] => {
  const bytes = Buffer.from(needle, 'latin1');
  if (bytes.length < BASE64_LENGTH_MIN) return [];
  const hex = bytes.toString('hex');
  return [...base64Forms(bytes), hex, hex.toUpperCase()];
};

/**
 * All values that were removed from a captured request. They must not appear anywhere else in it, in plain form or in one of the
 * encodings that `sweep` knows.
 */
export class HiddenValues {
  readonly #needles = new Set<string>();
  /** Values that were already added, by encoding. A body may repeat a value many times. */
  readonly #known = { utf8: new Set<string>(), latin1: new Set<string>() };
  #chars = 0;
  /** The search for all values so far. It is built when it is needed. */
  #search: NeedleSearch | undefined;

  add(value: string, encoding: TextEncoding): void {
    this.#addNeedle(value, encoding, LENGTH_MIN);
  }

  /** Adds a part of a value unless the part is short. A short part may be an ordinary word. */
  addPart(value: string, encoding: TextEncoding): void {
    this.#addNeedle(value, encoding, PART_LENGTH_MIN);
  }

  #addNeedle(value: string, encoding: TextEncoding, lengthMin: number): void {
    if (value.length * UTF8_BYTES_MAX < lengthMin || this.#chars >= NEEDLE_CHARS_MAX) return;
    const known = this.#known[encoding];
    if (known.has(`${lengthMin} ${value}`)) return;
    known.add(`${lengthMin} ${value}`);
    for (const chars of spellings(value, encoding)) {
      const needle = chars.trim();
      if (needle.length < lengthMin || needle === REDACTED || this.#needles.has(needle)) continue;
      this.#needles.add(needle);
      this.#chars += needle.length;
      this.#search = undefined;
    }
  }

  #makeSearch(): NeedleSearch {
    const wanted: string[] = [];
    let chars = 0;
    const add = (text: string): void => {
      if (chars + text.length > NEEDLE_CHARS_MAX) return;
      chars += text.length;
      wanted.push(toSearch(text));
    };
    // The values themselves take priority over their encoded forms.
    for (const needle of this.#needles) add(needle);
    for (const needle of this.#needles) for (const form of encodedForms(needle)) add(form);
    return new NeedleSearch(wanted);
  }

  /**
   * Removes all values from the text, in plain, percent-encoded, JSON-escaped, HTML-escaped, base64 and hexadecimal form.
   *
   * @param isCut whether the text was cut, in which case the beginning of a value at its end is also removed
   */
  sweep(text: string, encoding: TextEncoding, isCut = false): string {
    if (this.#needles.size === 0 || text.length < LENGTH_MIN) return text;
    this.#search ??= this.#makeSearch();
    const ranges: [start: number, end: number][] = [];
    for (const { chars, starts, ends } of readings(indexedBytes(text, encoding))) {
      const begun = this.#search.search(toSearch(chars), (start, end) => {
        ranges.push([starts[start] ?? 0, ends[end - 1] ?? 0]);
      });
      if (isCut && begun >= BEGINNING_MIN) ranges.push([starts[chars.length - begun] ?? 0, text.length]);
    }
    return replaceRanges(text, ranges);
  }
}

const replaceRanges = (text: string, ranges: [start: number, end: number][]): string => {
  let result = '';
  let done = 0;
  for (const [start, end] of ranges.sort((a, b) => a[0] - b[0])) {
    if (end <= done) continue;
    if (start >= done) result += `${text.slice(done, start)}${REDACTED}`;
    done = end;
  }
  return result + text.slice(done);
};
