import { celFunc, celList, celMethod, CelScalar, listType, type CelFunc, type CelList } from '@bufbuild/cel';
import { LIMITS } from '@standin/contract';
import { compareTexts } from './compare-texts.ts';
import { format } from './format.ts';
import { currentRun } from './run.ts';
import { TextSearch } from './text-search.ts';

const { BOOL, DYN, INT, STRING } = CelScalar;
const LIST = listType(DYN);

const findPositions = (text: string, wanted: string, options?: Parameters<TextSearch['positions']>[1]) =>
  new TextSearch(wanted, currentRun().budget).positions(text, options);

/** Only characters after U+FFFF have two units in V8. */
const SURROGATES = /[\ud800-\udfff]/;
const SCANNED_CHARACTERS_PER_UNIT = 4;

const chargeScan = (length: number): void => currentRun().budget.charge(length / SCANNED_CHARACTERS_PER_UNIT);

/** Counts Unicode characters, not units of V8. */
const characterCount = (text: string): bigint => {
  chargeScan(text.length);
  if (!SURROGATES.test(text)) return BigInt(text.length);
  let size = text.length;
  for (let at = 0; at < text.length; at++) if ((text.codePointAt(at) ?? 0) > 0xffff) size -= 1;
  return BigInt(size);
};

/** Returns the index in V8 of a character, or of the end. Throws an error if the text has fewer characters. */
const indexIn = (text: string, position: bigint): number => {
  const outside = new Error(`the index ${position} is outside the string`);
  if (position < 0n || position > BigInt(text.length)) throw outside;
  chargeScan(text.length);
  if (!SURROGATES.test(text)) return Number(position);
  let index = 0;
  for (let left = Number(position); left > 0; left--) {
    if (index >= text.length) throw outside;
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  }
  return index;
};

const charAt = (text: string, position: bigint): string => {
  const code = text.codePointAt(indexIn(text, position));
  return code === undefined ? '' : String.fromCodePoint(code);
};

const substring = (text: string, start: bigint, end?: bigint): string => {
  const first = indexIn(text, start);
  const last = end === undefined ? text.length : indexIn(text, end);
  if (first > last) throw new Error(`the start ${start} is after the end ${end ?? ''}`);
  return text.slice(first, last);
};

const reverse = (text: string): string => {
  currentRun().budget.charge(text.length * PART_UNITS);
  return Array.from(text).reverse().join('');
};

const contains = (text: string, wanted: string): boolean => {
  if (wanted === '') return true;
  for (const _ of findPositions(text, wanted)) return true;
  return false;
};

const firstPosition = (text: string, wanted: string, start = 0n): bigint => {
  const from = indexIn(text, start);
  if (wanted === '') return start;
  const [index] = findPositions(text, wanted, { from });
  return index === undefined ? -1n : characterCount(text.slice(0, index));
};

const lastPosition = (text: string, wanted: string, start?: bigint): bigint => {
  if (wanted === '' && start === undefined) return characterCount(text);
  const last = start === undefined ? text.length : indexIn(text, start);
  if (wanted === '') return start ?? 0n;
  // As in cel-go, nothing begins at the end.
  if (start !== undefined && last === text.length) return -1n;
  let found: number | undefined;
  for (const index of findPositions(text.slice(0, last + wanted.length), wanted, { overlapping: true })) found = index;
  return found === undefined ? -1n : characterCount(text.slice(0, found));
};

/** Returns the text before, between and after the first occurrences, at most `max` of them. */
const splitParts = (text: string, wanted: string, max: number): string[] => {
  if (wanted === '') return splitCharacters(text, max);
  const parts: string[] = [];
  let end = 0;
  for (const position of max > 0 ? findPositions(text, wanted) : []) {
    currentRun().budget.charge(PART_UNITS);
    parts.push(text.slice(end, position));
    end = position + wanted.length;
    if (parts.length >= max) break;
  }
  parts.push(text.slice(end));
  return parts;
};
const PART_UNITS = 10;

/** Returns the first characters, at most `max`, and the rest of the text. */
const splitCharacters = (text: string, max: number): string[] => {
  const characters: string[] = [];
  let end = 0;
  for (const character of max > 0 ? text : '') {
    currentRun().budget.charge(PART_UNITS);
    characters.push(character);
    end += character.length;
    if (characters.length >= max) break;
  }
  if (end < text.length) characters.push(text.slice(end));
  return characters;
};

/** Throws an error if a list would have too many items. */
export const checkItems = (count: number): void => {
  if (count > LIMITS.expressionItemsMax) throw new Error(`the list has more than ${LIMITS.expressionItemsMax} items`);
};

export const TOO_LONG = `the result has more than ${LIMITS.expressionTextLengthMax} characters or bytes`;

const split = (text: string, separator: string, limit = -1n): CelList => {
  if (limit === 0n) return celList([]);
  const max = LIMITS.expressionItemsMax;
  const parts = splitParts(text, separator, limit < 0n ? max : Math.min(Number(limit) - 1, max));
  checkItems(parts.length);
  return celList(parts);
};

const replace = (text: string, wanted: string, replacement: string, limit = -1n): string => {
  const max = limit < 0n ? Infinity : Number(limit);
  if (wanted !== '' || max === 0) return joined(splitParts(text, wanted, max), replacement);
  // As in Go, an empty string is found before each character and at the end.
  const parts = ['', ...splitParts(text, '', max - 1)];
  if (parts.length <= max) parts.push('');
  return joined(parts, replacement);
};

const joined = (parts: readonly string[], separator: string): string => {
  const length = parts.reduce((sum, part) => sum + part.length, separator.length * (parts.length - 1));
  if (length > LIMITS.expressionTextLengthMax) throw new Error(TOO_LONG);
  currentRun().budget.chargeText(length);
  return parts.join(separator);
};

const join = (list: CelList, separator = ''): string => {
  if (list.size === 0) return '';
  const parts = [...list].map((item) => {
    if (typeof item !== 'string') throw new Error('join() needs a list of strings');
    return item;
  });
  return joined(parts, separator);
};

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\v', '\\v'],
  ['\f', '\\f'],
  ['\r', '\\r'],
  ['"', '\\"'],
  ['\\', '\\\\'],
]);

/** Returns a string in double quotes as CEL reads it. */
const quote = (text: string): string =>
  `"${text.toWellFormed().replaceAll(/["\\]|[^ -\uffff]/g, (character) => ESCAPES.get(character) ?? character)}"`;

/** The library's functions that take quadratic time, create a character as a string, or count in the units of V8 are replaced by these. */
export const STRING_FUNCTIONS: CelFunc[] = [
  celFunc('size', [STRING], INT, characterCount),
  celMethod('size', STRING, [], INT, function () {
    return characterCount(this);
  }),
  celMethod('contains', STRING, [STRING], BOOL, function (wanted) {
    return contains(this, wanted);
  }),
  celMethod('charAt', STRING, [INT], STRING, function (position) {
    return charAt(this, position);
  }),
  celMethod('substring', STRING, [INT], STRING, function (start) {
    return substring(this, start);
  }),
  celMethod('substring', STRING, [INT, INT], STRING, function (start, end) {
    return substring(this, start, end);
  }),
  celMethod('reverse', STRING, [], STRING, function () {
    return reverse(this);
  }),
  celMethod('indexOf', STRING, [STRING], INT, function (wanted) {
    return firstPosition(this, wanted);
  }),
  celMethod('indexOf', STRING, [STRING, INT], INT, function (wanted, start) {
    return firstPosition(this, wanted, start);
  }),
  celMethod('lastIndexOf', STRING, [STRING], INT, function (wanted) {
    return lastPosition(this, wanted);
  }),
  celMethod('lastIndexOf', STRING, [STRING, INT], INT, function (wanted, start) {
    return lastPosition(this, wanted, start);
  }),
  celMethod('split', STRING, [STRING], LIST, function (separator) {
    return split(this, separator);
  }),
  celMethod('split', STRING, [STRING, INT], LIST, function (separator, limit) {
    return split(this, separator, limit);
  }),
  celMethod('replace', STRING, [STRING, STRING], STRING, function (wanted, replacement) {
    return replace(this, wanted, replacement);
  }),
  celMethod('replace', STRING, [STRING, STRING, INT], STRING, function (wanted, replacement, limit) {
    return replace(this, wanted, replacement, limit);
  }),
  celFunc('strings.quote', [STRING], STRING, quote),
  celMethod('format', STRING, [LIST], STRING, function (values) {
    return format(this, values);
  }),
  celFunc('_<_', [STRING, STRING], BOOL, (left, right) => compareTexts(left, right) < 0),
  celFunc('_<=_', [STRING, STRING], BOOL, (left, right) => compareTexts(left, right) <= 0),
  celFunc('_>_', [STRING, STRING], BOOL, (left, right) => compareTexts(left, right) > 0),
  celFunc('_>=_', [STRING, STRING], BOOL, (left, right) => compareTexts(left, right) >= 0),
  celMethod('join', LIST, [], STRING, function () {
    return join(this);
  }),
  celMethod('join', LIST, [STRING], STRING, function (separator) {
    return join(this, separator);
  }),
];
