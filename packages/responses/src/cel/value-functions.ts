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
  type CelValue,
} from '@bufbuild/cel';
import type { Budget } from '../budget.ts';
import { currentRun } from './run.ts';
import { checkItems } from './string-functions.ts';

const { BOOL, DOUBLE, DYN, INT, STRING, UINT } = CelScalar;
const LIST = listType(DYN);
const MAP = mapType(DYN, DYN);

const KEY_UNITS = 4;
const COMPARISON_UNITS = 20;
const ITEM_UNITS = 10;

type Key = Parameters<CelMap['get']>[0];

export const isKey = (value: CelValue): value is Key =>
  ['string', 'bigint', 'boolean', 'number'].includes(typeof value) || isCelUint(value);

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
  if (isCelList(left)) return isCelList(right) && listsAreEqual(left, right, budget);
  if (isCelMap(left)) return isCelMap(right) && mapsAreEqual(left, right, budget);
  if (left instanceof Uint8Array) budget.charge(left.length);
  return libraryEquality?.call(0, undefined, [left, right]) === true;
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
  return celList([...left, ...right]);
};

const INTEGER = /^-?[0-9]{1,20}$/;
const DECIMAL = /^[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,5})?$/;
const NOT_FINITE: Readonly<Record<string, number>> = {
  ...{ NaN: NaN, Infinity: Infinity, '+Infinity': Infinity, '-Infinity': -Infinity },
  ...{ Inf: Infinity, '+Inf': Infinity, '-Inf': -Infinity },
};

const parsed = (text: string, type: string, pattern: RegExp): string => {
  if (!pattern.test(text)) throw new Error(`the string is not a number of type ${type}`);
  return text;
};

const INT_BITS = 64;

const intOf = (text: string): bigint => {
  const value = BigInt(parsed(text, 'int', INTEGER));
  if (BigInt.asIntN(INT_BITS, value) !== value) throw new Error('the number is out of range of the type int');
  return value;
};

const uintOf = (text: string) => {
  const value = BigInt(parsed(text, 'uint', INTEGER));
  if (BigInt.asUintN(INT_BITS, value) !== value) throw new Error('the number is out of range of the type uint');
  return celUint(value);
};

const doubleOf = (text: string): number => NOT_FINITE[text] ?? Number(parsed(text, 'double', DECIMAL));

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
  celFunc('_+_', [LIST, LIST], LIST, concatenated),
  celFunc('int', [STRING], INT, intOf),
  celFunc('uint', [STRING], UINT, uintOf),
  celFunc('double', [STRING], DOUBLE, doubleOf),
  celFunc('uuid', [], STRING, () => currentRun().random.uuid()),
  celFunc('random', [INT, INT], INT, randomInteger),
  celFunc('random', [DOUBLE, DOUBLE], DOUBLE, randomDouble),
];
