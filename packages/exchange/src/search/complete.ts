import { FIELDS, HEADER_PREFIXES, headerField, isPlainField, type FieldKind } from './fields.ts';

/** The text that is being typed at the cursor. The chosen completion replaces `text.slice(from, to)`. */
export type Completion =
  /** The name of a field, or free text. `names` include their colon, or their dot if they are prefixes for headers. */
  | { readonly kind: 'field'; readonly typed: string; readonly names: readonly string[]; from: number; to: number }
  /**
   * The value of a field. `values` contains the matching ones if the field has a fixed list of values, and examples of numbers and
   * comparisons if its values are numbers. For other values, call `LogStore.distinct`.
   */
  | {
      readonly kind: 'value';
      readonly field: string;
      readonly typed: string;
      readonly values: readonly string[];
      readonly from: number;
      readonly to: number;
    }
  /** The name of a header. Call `LogStore.distinct` for `header` or `resp.header`. */
  | {
      readonly kind: 'header-name';
      readonly field: 'header' | 'resp.header';
      readonly typed: string;
      readonly from: number;
      readonly to: number;
    };

const NAMES = [...Object.keys(FIELDS).map((name) => `${name}:`), ...Object.keys(HEADER_PREFIXES)];

/** Suggestions that a number must follow. */
const COMPARISONS = ['>=', '>', '<=', '<'];

const STATUS_CLASSES = ['2xx', '3xx', '4xx', '5xx', 'none'];
const NUMBERS: Readonly<Partial<Record<FieldKind, readonly string[]>>> = {
  status: ['400', '500'],
  duration: ['100ms', '1s', '10s'],
  size: ['1kb', '100kb', '1mb'],
};

/** Returns status classes and comparisons, and after a comparison also examples of numbers. */
const suggestedNumbers = (kind: FieldKind, typed: string): readonly string[] => {
  const numbers = NUMBERS[kind];
  if (numbers === undefined) return [];
  const comparison = /^[<>]=?/.exec(typed)?.[0];
  return [
    ...(kind === 'status' ? STATUS_CLASSES : []),
    ...COMPARISONS,
    ...(comparison === undefined ? [] : numbers.map((number) => comparison + number)),
  ];
};

const startsWith = (text: string, typed: string): boolean => text.toLowerCase().startsWith(typed.toLowerCase());

/** Returns the start of the word at the cursor, or -1 inside quotes. */
const wordStart = (text: string, cursor: number): number => {
  let start = 0;
  let quoted = false;
  for (let at = 0; at < cursor; at++) {
    const char = text.charAt(at);
    if (char === '\\') at++;
    else if (char === '"') quoted = !quoted;
    else if (!quoted && (/[\s()]/.test(char) || (char === '-' && at === start))) start = at + 1;
  }
  return quoted ? -1 : start;
};

/**
 * Returns completions for a search box at the cursor, or `undefined` if there are none. Also works on input that does not parse.
 */
export const completionAt = (text: string, cursor: number): Completion | undefined => {
  const from = wordStart(text, cursor);
  if (from < 0) return undefined;
  const word = text.slice(from, cursor);
  const colon = word.indexOf(':');
  if (colon < 0) {
    const header = headerField(word);
    if (header !== undefined) {
      const field = header.prefix === 'header.' ? 'header' : 'resp.header';
      return { kind: 'header-name', field, typed: header.header, from: cursor - header.header.length, to: cursor };
    }
    const names = NAMES.filter((name) => startsWith(name, word));
    return names.length === 0 ? undefined : { kind: 'field', typed: word, names, from, to: cursor };
  }
  const field = word.slice(0, colon);
  if (!isPlainField(field) && headerField(field) === undefined) return undefined;
  const typed = word.slice(colon + 1);
  const all = isPlainField(field) ? (FIELDS[field].values ?? suggestedNumbers(FIELDS[field].kind, typed)) : [];
  const values = all.filter((value) => startsWith(value, typed));
  return { kind: 'value', field, typed, values, from: from + colon + 1, to: cursor };
};
