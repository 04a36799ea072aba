import { celFunc, celList, celMethod, CelScalar, listType, type CelFunc, type CelList } from '@bufbuild/cel';
import { LIMITS } from '@standin/contract';
import { currentRun } from './run.ts';
import { TextSearch } from './text-search.ts';

const { BOOL, DYN, INT, STRING } = CelScalar;
const LIST = listType(DYN);

const positionsOf = (text: string, wanted: string, options?: Parameters<TextSearch['positions']>[1]) =>
  new TextSearch(wanted, currentRun().budget).positions(text, options);

/** Throws an error if the index is not a position in the text, or its end. */
const indexIn = (text: string, index: bigint): number => {
  if (index < 0n || index > BigInt(text.length)) throw new Error(`the index ${index} is outside the string`);
  return Number(index);
};

const indexOf = (text: string, wanted: string, start = 0n): bigint => {
  const from = indexIn(text, start);
  if (wanted === '') return start;
  const [position = -1] = positionsOf(text, wanted, { from });
  return BigInt(position);
};

const lastIndexOf = (text: string, wanted: string, start = BigInt(text.length)): bigint => {
  const last = indexIn(text, start);
  if (wanted === '') return start;
  let found = -1;
  for (const position of positionsOf(text.slice(0, last + wanted.length), wanted, { overlapping: true }))
    found = position;
  return BigInt(found);
};

/** Returns the text before, between and after the first occurrences, at most `max` of them. */
const partsOf = (text: string, wanted: string, max: number): string[] => {
  if (wanted === '') return charactersOf(text, max);
  const parts: string[] = [];
  let end = 0;
  for (const position of max > 0 ? positionsOf(text, wanted) : []) {
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
const charactersOf = (text: string, max: number): string[] => {
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
  const parts = partsOf(text, separator, limit < 0n ? max : Math.min(Number(limit) - 1, max));
  checkItems(parts.length);
  return celList(parts);
};

const replace = (text: string, wanted: string, replacement: string, limit = -1n): string => {
  const max = limit < 0n ? Infinity : Number(limit);
  if (wanted !== '' || max === 0) return joined(partsOf(text, wanted, max), replacement);
  // As in Go, an empty string is found before each character and at the end.
  const parts = ['', ...partsOf(text, '', max - 1)];
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

/** Returns the number of Unicode characters. */
const sizeOf = (text: string): bigint => {
  let size = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0xd800 && code < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) size -= 1;
  }
  return BigInt(size);
};

/** The library's string functions that take quadratic time, or create a character as a string, are replaced by these. */
export const STRING_FUNCTIONS: CelFunc[] = [
  celFunc('size', [STRING], INT, sizeOf),
  celMethod('size', STRING, [], INT, function () {
    return sizeOf(this);
  }),
  celMethod('contains', STRING, [STRING], BOOL, function (wanted) {
    return indexOf(this, wanted) !== -1n;
  }),
  celMethod('indexOf', STRING, [STRING], INT, function (wanted) {
    return indexOf(this, wanted);
  }),
  celMethod('indexOf', STRING, [STRING, INT], INT, function (wanted, start) {
    return indexOf(this, wanted, start);
  }),
  celMethod('lastIndexOf', STRING, [STRING], INT, function (wanted) {
    return lastIndexOf(this, wanted);
  }),
  celMethod('lastIndexOf', STRING, [STRING, INT], INT, function (wanted, start) {
    return lastIndexOf(this, wanted, start);
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
  celMethod('join', LIST, [], STRING, function () {
    return join(this);
  }),
  celMethod('join', LIST, [STRING], STRING, function (separator) {
    return join(this, separator);
  }),
];
