import {
  celEnv,
  celFunc,
  celList,
  CelScalar,
  celUint,
  isCelList,
  isCelMap,
  isCelUint,
  listType,
  mapType,
  type CelFunc,
  type CelList,
  type CelMap,
  type CelUint,
  type CelValue,
} from '@bufbuild/cel';
import type { Budget } from '../budget.ts';
import { joinedTexts, keepNumberTexts } from './number-texts.ts';
import { currentRun } from './run.ts';
import { checkItems } from './string-functions.ts';

const { BOOL, BYTES, DOUBLE, DYN, INT, STRING, UINT } = CelScalar;
const LIST = listType(DYN);
const MAP = mapType(DYN, DYN);

const KEY_UNITS = 4;
const COMPARISON_UNITS = 20;
const ITEM_UNITS = 10;

type Key = Parameters<CelMap['get']>[0];

export const isKey = (value: CelValue): value is Key =>
  ['string', 'bigint', 'boolean', 'number'].includes(typeof value) || isCelUint(value);

/** The name of a key in JSON and in messages. */
export const keyText = (key: Key): string => String(isCelUint(key) ? key.value : key);

/** Returns the value of a key. To find a number, the library compares all keys. */
export const valueAt = (map: CelMap, key: Key, budget: Budget): CelValue | undefined => {
  if (typeof key === 'string') budget.chargeText(key.length);
  else budget.charge(map.size * KEY_UNITS);
  return map.get(key);
};

const libraryEquality = celEnv().funcs.find('_==_');

/** Compares two values as CEL does: numbers by value, lists and maps with all their contents. */
export const equals = (left: CelValue, right: CelValue, budget: Budget): boolean => {
  budget.charge(COMPARISON_UNITS);
  if (typeof left === 'string') {
    if (typeof right !== 'string' || left.length !== right.length) return false;
    budget.chargeText(left.length);
    return left === right;
  }
  if (left === right) return true;
  if (isNumber(left)) return isNumber(right) && numbersAreEqual(left, right);
  if (isCelList(left)) return isCelList(right) && listsAreEqual(left, right, budget);
  if (isCelMap(left)) return isCelMap(right) && mapsAreEqual(left, right, budget);
  if (left instanceof Uint8Array) budget.charge(left.length);
  return libraryEquality?.call(0, undefined, [left, right]) === true;
};

type NumberValue = number | bigint | CelUint;

const isNumber = (value: CelValue): value is NumberValue =>
  typeof value === 'bigint' || typeof value === 'number' || isCelUint(value);

/** Compares an integer with a double as the operators of order do, so that one of `<`, `==` and `>` is true, except for NaN. */
const numbersAreEqual = (left: NumberValue, right: NumberValue): boolean => {
  const [one, other] = [isCelUint(left) ? left.value : left, isCelUint(right) ? right.value : right];
  return typeof one === typeof other ? one === other : Number(one) === Number(other);
};

const listsAreEqual = (left: CelList, right: CelList, budget: Budget): boolean => {
  if (left.size !== right.size) return false;
  for (let at = 0; at < left.size; at++) {
    const [one, other] = [left.get(at), right.get(at)];
    if (one === undefined || other === undefined || !equals(one, other, budget)) return false;
  }
  return true;
};

const mapsAreEqual = (left: CelMap, right: CelMap, budget: Budget): boolean => {
  if (left.size !== right.size) return false;
  for (const [key, value] of left) {
    const other = valueAt(right, key, budget);
    if (other === undefined || !equals(value, other, budget)) return false;
  }
  return true;
};

/** Charges for reading a value and all its contents. */
export const chargeContent = (value: CelValue, budget: Budget): void => {
  budget.charge(CONTENT_UNITS);
  if (typeof value === 'string' || value instanceof Uint8Array) budget.charge(value.length * CHARACTER_UNITS);
  else if (isCelList(value)) for (const item of value) chargeContent(item, budget);
  else if (isCelMap(value))
    for (const [key, item] of value) {
      chargeContent(key, budget);
      chargeContent(item, budget);
    }
};
const CONTENT_UNITS = 100;
const CHARACTER_UNITS = 1;

const isIn = (wanted: CelValue, list: CelList): boolean => {
  const { budget } = currentRun();
  for (const item of list) if (equals(item, wanted, budget)) return true;
  return false;
};

const concatenated = (left: CelList, right: CelList): CelList => {
  checkItems(left.size + right.size);
  currentRun().budget.charge((left.size + right.size) * ITEM_UNITS);
  return keepNumberTexts(celList([...left, ...right]), joinedTexts(left, right));
};

const INTEGER = /^[+-]?[0-9]{1,400}$/;
const UNSIGNED_INTEGER = /^[0-9]{1,400}$/;
const DECIMAL = /^[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,5})?$/;
const NAN = /^nan$/i;
const INFINITE = /^[+-]?inf(?:inity)?$/i;

const parsed = (text: string, type: string, pattern: RegExp): string => {
  if (!pattern.test(text)) throw new Error(`the string is not a number of type ${type}`);
  return text;
};

const INT_BITS = 64;

const parseCelInt = (text: string): bigint => {
  const value = BigInt(parsed(text, 'int', INTEGER).replace('+', ''));
  if (BigInt.asIntN(INT_BITS, value) !== value) throw new Error('the number is out of range of the type int');
  return value;
};

const parseCelUint = (text: string) => {
  const value = BigInt(parsed(text, 'uint', UNSIGNED_INTEGER));
  if (BigInt.asUintN(INT_BITS, value) !== value) throw new Error('the number is out of range of the type uint');
  return celUint(value);
};

const parseCelDouble = (text: string): number => {
  if (NAN.test(text)) return NaN;
  if (INFINITE.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  const value = Number(parsed(text, 'double', DECIMAL));
  if (!Number.isFinite(value)) throw new Error('the number is out of range of the type double');
  return value;
};

const parseCelBool = (text: string): boolean => {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false;
  throw new Error('the string is not a bool, such as true or false');
};

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const bytesAsUtf8 = (bytes: Uint8Array): string => {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new Error('the bytes are not UTF-8');
  }
};

/** The library returns 0 for the smallest integer and -1, whose quotient is out of range. */
const remainder = (left: bigint, right: bigint): bigint => {
  if (right === 0n) throw new Error('int modulus by zero');
  if (BigInt.asIntN(INT_BITS, left / right) !== left / right)
    throw new Error('the result is out of range of the type int');
  return left % right;
};

/** The library refuses results that are not in the range of the type int. */
const quotient = (left: CelUint, right: CelUint): CelUint => {
  if (right.value === 0n) throw new Error('uint divide by zero');
  return celUint(left.value / right.value);
};

/** Returns an integer from `min` to `max`, including both. */
const randomInteger = (min: bigint, max: bigint): bigint => {
  if (min > max) throw new Error('the first argument of random() is greater than the second one');
  return min + currentRun().random.below(max - min + 1n);
};

const randomDouble = (min: number, max: number): number => {
  if (!(min <= max)) throw new Error('the first argument of random() is greater than the second one');
  const share = currentRun().random.real();
  return min * (1 - share) + max * share;
};

const has = (key: Key, map: CelMap): boolean => valueAt(map, key, currentRun().budget) !== undefined;

/** Functions that the library does not have, or that take more time or accept more text than they should. */
export const VALUE_FUNCTIONS: CelFunc[] = [
  celFunc('_==_', [DYN, DYN], BOOL, (left, right) => equals(left, right, currentRun().budget)),
  celFunc('_!=_', [DYN, DYN], BOOL, (left, right) => !equals(left, right, currentRun().budget)),
  celFunc('@in', [DYN, LIST], BOOL, isIn),
  ...[STRING, INT, UINT, DOUBLE, BOOL].map((key) => celFunc('@in', [key, MAP], BOOL, has)),
  celFunc('@in', [DYN, MAP], BOOL, (key, map) => isKey(key) && has(key, map)),
  celFunc('_+_', [LIST, LIST], LIST, concatenated),
  celFunc('_%_', [INT, INT], INT, remainder),
  celFunc('_/_', [UINT, UINT], UINT, quotient),
  celFunc('int', [STRING], INT, parseCelInt),
  celFunc('uint', [STRING], UINT, parseCelUint),
  celFunc('double', [STRING], DOUBLE, parseCelDouble),
  celFunc('bool', [STRING], BOOL, parseCelBool),
  celFunc('string', [BYTES], STRING, bytesAsUtf8),
  celFunc('uuid', [], STRING, () => currentRun().random.uuid()),
  celFunc('random', [INT, INT], INT, randomInteger),
  celFunc('random', [DOUBLE, DOUBLE], DOUBLE, randomDouble),
];
