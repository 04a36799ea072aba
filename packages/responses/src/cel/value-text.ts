import { celType, isCelList, isCelMap, isCelUint, type CelMap, type CelValue } from '@bufbuild/cel';
import { LIMITS } from '@standin/contract';
import { Budget, BudgetExhausted } from '../budget.ts';
import { ExpressionError, OUT_OF_BUDGET } from './expression-error.ts';
import { convertValue } from './functions.ts';
import { numberTexts, textKey } from './number-texts.ts';
import { isNumber } from './program.ts';
import { keyText } from './value-functions.ts';

/**
 * Returns a value as JSON. Strings and 64-bit integers are exact. Numbers of a JSON document are written as they were, and other ones as the
 * shortest text that is read as the same double. Timestamps and durations are strings as in protobuf, and bytes are base64.
 *
 * @param written see `Run.written`
 */
export const celToJson = (value: CelValue, budget = new Budget(), written?: string): string | ExpressionError => {
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
  return withinBudget(() => write(value, { add, budget }, written) ?? parts.join(''));
};

/** Returns the contents of a JSON string, without its quotes. */
export const jsonContents = (text: string, budget: Budget): string | ExpressionError =>
  withinBudget(() => jsonString(text, budget).slice(1, -1));

const withinBudget = <T>(action: () => T): T | ExpressionError => {
  try {
    return action();
  } catch (error) {
    if (error instanceof BudgetExhausted) return OUT_OF_BUDGET;
    throw error;
  }
};

/** Charges before the text is written, because escaping 1 MiB takes 20 ms. */
const jsonString = (text: string, budget: Budget): string => {
  const units = !text.isWellFormed() ? SURROGATE_UNITS : ESCAPED.test(text) ? ESCAPE_UNITS : PLAIN_UNITS;
  budget.charge(text.length * units);
  return JSON.stringify(text);
};
/** Double quotes, backslashes and control characters. */
const ESCAPED = /["\\]|[^ -\uffff]/;
// For each character of a string that has lone surrogates, that has other characters to be escaped, or that has none.
const [SURROGATE_UNITS, ESCAPE_UNITS, PLAIN_UNITS] = [6, 2, 0.25];

/** To write one part of a value. */
const WRITE_UNITS = 6;

/**
 * Returns a string as it is, a number of a JSON document as it was written, null, lists and maps as JSON, and other values as the function
 * `string()` does.
 *
 * @param written see `Run.written`
 */
export const celToText = (value: CelValue, budget?: Budget, written?: string): string | ExpressionError => {
  if (value === null || isCelList(value) || isCelMap(value)) return celToJson(value, budget);
  return isNumber(value) && written !== undefined ? written : scalarText(value);
};

interface Writer {
  /** Adds a string. Returns false if the result is too long. */
  readonly add: (text: string) => boolean;
  readonly budget: Budget;
}

const TOO_LONG = new ExpressionError(`the value has more than ${LIMITS.expressionTextLengthMax} characters of JSON`);

const write = (value: CelValue, writer: Writer, written: string | undefined): ExpressionError | undefined => {
  if (isCelList(value)) {
    const texts = numberTexts(value);
    let index = 0;
    return writeAll(value, ['[', ']'], writer, (item) => write(item, writer, texts?.get(index++)));
  }
  if (isCelMap(value)) {
    const texts = numberTexts(value);
    return (
      repeatedName(value) ??
      writeAll(value, ['{', '}'], writer, (member) => writeMember(member, writer, texts?.get(textKey(member[0]))))
    );
  }
  const text = isNumber(value) && written !== undefined ? written : scalarJson(value, writer.budget);
  if (text instanceof ExpressionError) return text;
  return writer.add(text) ? undefined : TOO_LONG;
};

const writeMember = ([key, value]: Member, writer: Writer, written: string | undefined): ExpressionError | undefined =>
  writer.add(`${jsonString(keyText(key), writer.budget)}:`) ? write(value, writer, written) : TOO_LONG;

type Member = CelMap extends Iterable<infer M> ? M : never;

/** Returns an error if keys of different types, such as 1 and "1", have the same name in JSON. */
const repeatedName = (map: CelMap): ExpressionError | undefined => {
  for (const key of map.keys())
    if (typeof key !== 'string' && map.get(keyText(key)) !== undefined)
      return new ExpressionError(`a map has several keys with the name "${keyText(key)}" in JSON`);
  return undefined;
};

const writeAll = <T>(
  items: Iterable<T>,
  [open, close]: readonly [string, string],
  writer: Writer,
  writeItem: (item: T) => ExpressionError | undefined,
): ExpressionError | undefined => {
  let separator = open;
  for (const item of items) {
    const error = writer.add(separator) ? writeItem(item) : TOO_LONG;
    if (error !== undefined) return error;
    separator = ',';
  }
  return writer.add(separator === open ? `${open}${close}` : close) ? undefined : TOO_LONG;
};

/** Returns the JSON of a value that is neither a list nor a map. */
const scalarJson = (value: CelValue, budget: Budget): string | ExpressionError => {
  if (typeof value === 'string') return jsonString(value, budget);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value === 'bigint') return String(value);
  if (isCelUint(value)) return String(value.value);
  if (typeof value === 'number')
    return Number.isFinite(value) ? JSON.stringify(value) : new ExpressionError(`${value} is not a number in JSON`);
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  const text = scalarText(value);
  return typeof text === 'string' ? JSON.stringify(text) : text;
};

const scalarText = (value: CelValue): string | ExpressionError => {
  const text = convertValue('string', value);
  return typeof text === 'string' ? text : new ExpressionError(`a value of type ${celType(value).name} has no text`);
};
