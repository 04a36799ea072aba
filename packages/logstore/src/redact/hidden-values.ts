import { REDACTED } from './credential-shapes.ts';

/** Shorter values are words that may stand anywhere. */
const LENGTH_MIN = 6;
/** Parts of a value that has structure: the user and the password of Basic credentials, each cookie. */
const PART_LENGTH_MIN = 8;
/** So much of a value is a part of it that says something. */
const BEGINNING_MIN = 4;
/** Each costs a search over everything that is shown. */
const VALUES_MAX = 1_000;
/** Escapes within escapes: JSON in a form field. */
const DECODINGS_MAX = 2;
/** Below it, base64 of a value says too little about it. */
const BASE64_LENGTH_MIN = 9;

/** Where the characters of a text come from: [start, end) of each in the text as it is. All are bytes, one per character. */
interface Bytes {
  readonly chars: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

class BytesBuilder {
  #chars: string[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];

  add(bytes: string, start: number, end: number): void {
    for (const byte of bytes) {
      this.#chars.push(byte);
      this.starts.push(start);
      this.ends.push(end);
    }
  }

  build(): Bytes {
    return { chars: this.#chars.join(''), starts: this.starts, ends: this.ends };
  }
}

/** A plus is a space in forms, and itself elsewhere: both are searched for as the same. */
const toSearch = (chars: string): string => chars.replaceAll('+', ' ');

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** `latin1`: each character is a byte already, as in headers and targets. */
export type TextEncoding = 'utf8' | 'latin1';

const bytesOf = (text: string, encoding: TextEncoding): Bytes => {
  const builder = new BytesBuilder();
  for (let at = 0; at < text.length;) {
    const char = encoding === 'latin1' ? (text[at] ?? '') : String.fromCodePoint(text.codePointAt(at) ?? 0);
    builder.add(encoding === 'latin1' || char < '\u0080' ? char : utf8(char), at, at + char.length);
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
      return unit === undefined ? (JSON_ESCAPES[char] ?? char) : codePoint(Number.parseInt(unit, 16));
    },
  },
  {
    mark: '&',
    pattern: /&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));/y,
    decode: ([, decimal, hex, name = '']) => {
      if (decimal !== undefined) return codePoint(Number(decimal));
      return hex === undefined ? (ENTITIES[name] ?? '') : codePoint(Number.parseInt(hex, 16));
    },
  },
];

const decodeOnce = (bytes: Bytes, { mark, pattern, decode }: Escape): Bytes | undefined => {
  const { chars, starts, ends } = bytes;
  if (!chars.includes(mark)) return undefined;
  const builder = new BytesBuilder();
  for (let at = 0; at < chars.length;) {
    pattern.lastIndex = at;
    const match = chars[at] === mark ? pattern.exec(chars) : null;
    const length = match?.[0].length ?? 1;
    builder.add(match === null ? (chars[at] ?? '') : decode(match), starts[at] ?? 0, ends[at + length - 1] ?? 0);
    at += length;
  }
  return builder.build();
};

/** The text in every reading: as it is, and with its escapes undone. */
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

/** Base64 of the bytes wherever they lie in what was encoded: without the characters that their neighbours share. */
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

/** Everything that was taken out of an exchange: it must not stand anywhere else in it, however it is written there. */
export class HiddenValues {
  readonly #needles = new Set<string>();

  add(value: string, encoding: TextEncoding): void {
    this.#addNeedle(bytesOf(value, encoding), LENGTH_MIN);
  }

  /** A part of a value, which may be an ordinary word. */
  addPart(value: string, encoding: TextEncoding): void {
    this.#addNeedle(bytesOf(value, encoding), PART_LENGTH_MIN);
  }

  #addNeedle(value: Bytes, lengthMin: number): void {
    for (const { chars } of readings(value)) {
      const needle = chars.trim();
      if (needle.length < lengthMin || needle === REDACTED || this.#needles.size >= VALUES_MAX) continue;
      this.#needles.add(toSearch(needle));
      const bytes = Buffer.from(needle, 'latin1');
      if (bytes.length < BASE64_LENGTH_MIN) continue;
      for (const form of base64Forms(bytes)) this.#needles.add(toSearch(form));
      this.#needles.add(bytes.toString('hex')).add(bytes.toString('hex').toUpperCase());
    }
  }

  /**
   * The text without any of the values, in plain, percent-encoded, JSON-escaped, HTML-escaped, base64 and hexadecimal form.
   *
   * @param isCut more text followed: the beginning of a value at its end is taken out, too
   */
  sweep(text: string, encoding: TextEncoding, isCut = false): string {
    if (this.#needles.size === 0 || text.length < LENGTH_MIN) return text;
    const ranges: [start: number, end: number][] = [];
    for (const { chars: bytes, starts, ends } of readings(bytesOf(text, encoding))) {
      const chars = toSearch(bytes);
      for (const needle of this.#needles) {
        for (let at = chars.indexOf(needle); at !== -1; at = chars.indexOf(needle, at + needle.length))
          ranges.push([starts[at] ?? 0, ends[at + needle.length - 1] ?? 0]);
        const begun = isCut ? lengthOfBeginning(chars, needle) : 0;
        if (begun > 0) ranges.push([starts[chars.length - begun] ?? 0, text.length]);
      }
    }
    return replaceRanges(text, ranges);
  }
}

/** How much of the needle's beginning stands at the end of `chars`; 0 where that says nothing about it. */
const lengthOfBeginning = (chars: string, needle: string): number => {
  for (let length = Math.min(needle.length - 1, chars.length); length >= BEGINNING_MIN; length -= 1)
    if (chars.endsWith(needle.slice(0, length))) return length;
  return 0;
};

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
