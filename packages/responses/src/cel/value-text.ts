import { celType, isCelList, isCelMap, isCelUint, type CelMap, type CelValue } from '@bufbuild/cel';
import { LIMITS } from '@standin/contract';
import { Budget, BudgetExhausted } from './budget.ts';
import { ExpressionError, OUT_OF_BUDGET } from './expression-error.ts';
import { convert } from './functions.ts';

/**
 * Returns a value as JSON. Strings and integers of 64 bits are exact. Other numbers are the shortest text that is read as the same
 * double. Timestamps and durations are strings as in protobuf, and bytes are base64.
 */
export const celToJson = (value: CelValue, budget = new Budget()): string | ExpressionError => {
  const parts: string[] = [];
  let length = 0;
  // Values can contain the same list several times, so the text can be much longer than they are.
  const add = (text: string): boolean => {
    budget.charge(WRITE_UNITS);
    budget.chargeText(text.length);
    parts.push(text);
    length += text.length;
    return length <= LIMITS.expressionTextLengthMax;
  };
  try {
    return write(value, add) ?? parts.join('');
  } catch (error) {
    if (error instanceof BudgetExhausted) return OUT_OF_BUDGET;
    throw error;
  }
};

/** To write one part of a value. */
const WRITE_UNITS = 6;

/** Returns a string as it is, null, lists and maps as JSON, and other values as the function `string()` does. */
export const celToText = (value: CelValue, budget?: Budget): string | ExpressionError =>
  value === null || isCelList(value) || isCelMap(value) ? celToJson(value, budget) : textOf(value);

/** Adds a text. Returns false if the result is too long. */
type Add = (text: string) => boolean;

const TOO_LONG = new ExpressionError(`the value has more than ${LIMITS.expressionTextLengthMax} characters of JSON`);

const write = (value: CelValue, add: Add): ExpressionError | undefined => {
  if (isCelList(value)) return writeAll(value, ['[', ']'], add, write);
  if (isCelMap(value)) return writeAll(value, ['{', '}'], add, writeMember);
  const text = jsonOf(value);
  if (text instanceof ExpressionError) return text;
  return add(text) ? undefined : TOO_LONG;
};

const writeMember = ([key, value]: Member, add: Add): ExpressionError | undefined =>
  add(`${JSON.stringify(isCelUint(key) ? String(key.value) : String(key))}:`) ? write(value, add) : TOO_LONG;

type Member = CelMap extends Iterable<infer M> ? M : never;

const writeAll = <T>(
  items: Iterable<T>,
  [open, close]: readonly [string, string],
  add: Add,
  writeItem: (item: T, add: Add) => ExpressionError | undefined,
): ExpressionError | undefined => {
  let separator = open;
  for (const item of items) {
    const error = add(separator) ? writeItem(item, add) : TOO_LONG;
    if (error !== undefined) return error;
    separator = ',';
  }
  return add(separator === open ? `${open}${close}` : close) ? undefined : TOO_LONG;
};

/** Returns the JSON of a value that is neither a list nor a map. */
const jsonOf = (value: CelValue): string | ExpressionError => {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return JSON.stringify(value);
  if (typeof value === 'bigint') return String(value);
  if (isCelUint(value)) return String(value.value);
  if (typeof value === 'number')
    return Number.isFinite(value) ? JSON.stringify(value) : new ExpressionError(`${value} is not a number in JSON`);
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  const text = textOf(value);
  return typeof text === 'string' ? JSON.stringify(text) : text;
};

const textOf = (value: CelValue): string | ExpressionError => {
  const text = convert('string', value);
  return typeof text === 'string' ? text : new ExpressionError(`a value of type ${celType(value).name} has no text`);
};
