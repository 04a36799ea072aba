import { hasControls, printable } from '@standin/contract';
import { Scalar, type Document, type ScalarTag, type ToStringOptions } from 'yaml';
import { stringifyString, type StringifyContext } from 'yaml/util';

/** A byte order mark, and characters that kubectl rejects. In double quotes, they can be escaped. */
const UNREADABLE = /[\ufeff\ufffe\uffff]/g;
/**
 * A string of at least this length in double quotes is written with one line for each of its own lines. `yaml` has the same limit.
 */
const ONE_LINE_CHARS_MAX = 40;

const BLANK = /^[ \t\n]*$/;

/** Returns whether `yaml` could write the string in a form that `yaml` or kubectl rejects or reads as a different string. */
const needsQuotes = (text: string, indent: number): boolean =>
  hasControls(text.replaceAll(/[\n\t]/g, '')) ||
  text.search(UNREADABLE) !== -1 ||
  // kubectl rejects a block that begins with a tab.
  /^\n*\t/.test(text) ||
  // A block that begins with a space must specify its indentation, and `yaml` always specifies 2.
  (indent !== 2 && /^\n* /.test(text));

const typeFor = (text: string, { type }: Scalar, indent: number): Scalar['type'] => {
  // A block scalar that consists of blank lines loses its whitespace.
  if (BLANK.test(text)) return type === Scalar.QUOTE_SINGLE ? type : Scalar.QUOTE_DOUBLE;
  if (needsQuotes(text, indent)) return Scalar.QUOTE_DOUBLE;
  // `yaml` does not check whether these styles, which the author chose for an earlier text, are valid for the new text.
  if (type === Scalar.PLAIN && text.includes('\n')) return undefined;
  return type === Scalar.BLOCK_FOLDED && /^[ \t]/m.test(text) ? Scalar.BLOCK_LITERAL : type;
};

/**
 * Writes the string in double quotes, where YAML has the same escapes as JSON, and with `\` at the end of each line that is broken
 * only for readability.
 */
const doubleQuoted = (text: string, { implicitKey, indent }: StringifyContext): string => {
  const escape = (part: string): string =>
    printable(JSON.stringify(part).slice(1, -1)).replaceAll(
      UNREADABLE,
      (found) => `\\u${found.charCodeAt(0).toString(16)}`,
    );
  if (implicitKey === true || text.length < ONE_LINE_CHARS_MAX) return `"${escape(text)}"`;
  // Parsers skip the spaces at the beginning of a line up to the first `\`.
  const lines = text.split(/(?<=\n)/).map((line) => escape(line).replace(/^ /, '\\ '));
  return `"${lines.join(`\\\n${indent === '' ? '  ' : indent}`)}"`;
};

/**
 * Returns whether a string is a word that YAML 1.1 and 1.2 read as a string without quotes. For such words, `yaml` would try all of its
 * tags, which takes most of the time for a large manifest.
 */
const isPlain = (text: string, { type }: Scalar): boolean =>
  (type === undefined || type === Scalar.PLAIN) && WORD.test(text) && !RESERVED.test(text);

const WORD = /^[A-Za-z][A-Za-z0-9_-]*$/;
/** `yaml` reads `e0` as a number. */
const RESERVED = /^(?:y|yes|n|no|on|off|true|false|null|e[0-9]+)$/i;

/** Writes strings so that all YAML 1.1 and 1.2 parsers read them back unchanged. */
const STRING: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  identify: (value) => typeof value === 'string',
  resolve: (text) => text,
  stringify: (item, context, ...callbacks) => {
    const value = String(item.value);
    if (isPlain(value, item)) return value;
    const type = typeFor(value, item, context.indentStep.length);
    const scalar = Object.assign(new Scalar(value), item, { value, type });
    const written = stringifyString(scalar, { ...context, actualString: true }, ...callbacks);
    return written.startsWith('"') ? doubleQuoted(value, context) : written;
  },
};

/** A plain `<<` is a merge key, which parsers represent as a symbol. The string `<<` is written in quotes. */
const MERGE_TAG = 'tag:yaml.org,2002:merge';
const stringifyMerge = ({ value }: Scalar): string => (typeof value === 'symbol' ? '<<' : '"<<"');

/**
 * Returns the text of a document. Long strings are not folded, so a body reads as it is sent. Strings that a block or a plain
 * scalar would change are in double quotes. Control characters in strings are escaped, because a DEL pasted into a terminal would
 * erase the characters before it.
 */
export const writeYaml = (document: Document, options: ToStringOptions = {}): string => {
  document.schema.tags = document.schema.tags.map((tag) => {
    if (tag.tag === STRING.tag) return STRING;
    return tag.tag === MERGE_TAG ? ({ ...tag, stringify: stringifyMerge } as ScalarTag) : tag;
  });
  return document.toString({ lineWidth: 0, ...options });
};
