import {
  celEnv,
  celType,
  isCelList,
  isCelMap,
  isCelType,
  isCelUint,
  type CelList,
  type CelMap,
  type CelValue,
} from '@bufbuild/cel';
import { LIMITS } from '@standin/contract';
import { compareTexts } from './compare-texts.ts';
import { currentRun } from './run.ts';

const libraryString = celEnv().funcs.find('string');

const PRECISION = 6;
const PRECISION_MAX = 100;
/** To find a clause and its value. A number with decimals takes longer. */
const CLAUSE_UNITS = 100;
const DECIMALS_UNITS = 2_000;

/** Returns a text in which the clauses, such as `%s` and `%.2f`, are replaced by the values. */
export const format = (text: string, values: CelList): string => {
  let result = '';
  let end = 0;
  let index = 0;
  for (let at = text.indexOf('%'); at !== -1; at = text.indexOf('%', end)) {
    currentRun().budget.charge(CLAUSE_UNITS);
    CLAUSE.lastIndex = at;
    const [clause = '', decimals, kind = ''] = CLAUSE.exec(text) ?? [];
    if (clause === '') throw new Error('format() has a % without a letter: write %% for a percent sign');
    result += text.slice(end, at);
    end = at + clause.length;
    if (kind === '%' && decimals === undefined) result += '%';
    else result += formatted(kind, clauseValue(values, index++), decimals === undefined ? PRECISION : Number(decimals));
    checkLength(result.length);
  }
  if (index < values.size) throw new Error(`format() has more values than clauses: ${values.size} and ${index}`);
  return result + text.slice(end);
};

const CLAUSE = /%(?:\.(\d{1,6}))?([^])/uy;

const clauseValue = (values: CelList, index: number): CelValue => {
  const value = values.get(index);
  if (value === undefined) throw new Error('format() has fewer values than clauses');
  return value;
};

/** Throws an error if a text is too long. */
const checkLength = (length: number): void => {
  if (length > LIMITS.expressionTextLengthMax) throw new Error('the result of format() is too long');
};

const formatted = (kind: string, value: CelValue, precision: number): string => {
  if (precision > PRECISION_MAX) throw new Error(`format() writes at most ${PRECISION_MAX} decimals`);
  const number = isCelUint(value) ? value.value : value;
  switch (kind) {
    case 's':
      return plainText(value);
    case 'd':
      if (typeof number === 'bigint' || typeof number === 'number') return plainNumber(number);
      break;
    case 'f':
    case 'e':
      if (typeof number === 'bigint' || typeof number === 'number')
        return withDecimals(Number(number), precision, kind);
      break;
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      if (typeof number === 'bigint') return number.toString(2);
      break;
    case 'o':
      if (typeof number === 'bigint') return number.toString(8);
      break;
    case 'x':
      return hexadecimal(number);
    case 'X':
      return hexadecimal(number).toUpperCase();
    default:
      throw new Error(`format() has no clause %${kind}`);
  }
  throw new Error(`%${kind} cannot format a value of type ${celType(value).name}`);
};

const hexadecimal = (value: CelValue): string => {
  if (typeof value === 'bigint') return value.toString(16);
  if (typeof value === 'string' || value instanceof Uint8Array) {
    currentRun().budget.charge(value.length);
    return Buffer.from(value).toString('hex');
  }
  throw new Error(`%x cannot format a value of type ${celType(value).name}`);
};

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Returns a value as text. Only the budget limits its length, because a list can contain the same list many times. */
const plainText = (value: CelValue): string => {
  const { budget } = currentRun();
  budget.charge(CONTENT_UNITS);
  if (typeof value === 'string') return charged(value);
  if (value instanceof Uint8Array) return charged(decoder.decode(value));
  if (typeof value === 'bigint' || typeof value === 'number') return plainNumber(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (isCelUint(value)) return String(value.value);
  if (isCelType(value)) return value.name;
  if (isCelList(value)) return `[${[...value].map(plainText).join(', ')}]`;
  if (isCelMap(value)) return `{${memberTexts(value).join(', ')}}`;
  const text = libraryString?.call(0, undefined, [value]);
  if (typeof text === 'string') return text;
  throw new Error(`%s cannot format a value of type ${celType(value).name}`);
};

const CONTENT_UNITS = 100;

const charged = (text: string): string => {
  currentRun().budget.charge(text.length);
  return text;
};

/** Sorted by the text of the keys. */
const memberTexts = (map: CelMap): string[] =>
  [...map]
    .map(([key, value]) => [plainText(key), plainText(value)] as const)
    .toSorted(([one], [other]) => compareTexts(one, other))
    .map(([key, value]) => `${key}: ${value}`);

/** Returns a number without an exponent. */
const plainNumber = (value: number | bigint): string => {
  const text = String(value);
  const [, sign = '', first = '', rest = '', exponent] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? [];
  if (exponent === undefined) return Object.is(value, -0) ? '-0' : text;
  const point = Number(exponent) + 1;
  const digits = first + rest;
  return point > 0 ? `${sign}${digits.padEnd(point, '0')}` : `${sign}0.${'0'.repeat(-point)}${digits}`;
};

/** Returns a number with a count of decimals, for `f` without and for `e` with an exponent. Halves are rounded to the even digit. */
const withDecimals = (value: number, precision: number, kind: 'f' | 'e'): string => {
  if (!Number.isFinite(value)) return String(value);
  currentRun().budget.charge(DECIMALS_UNITS);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  if (kind === 'f') return sign + withPoint(String(rounded(size, precision)), precision);
  let exponent = size === 0 ? 0 : Number(size.toExponential().split('e')[1]);
  let digits = String(rounded(size, precision - exponent));
  // Rounding can add a digit, and the shortest form can have one too many.
  if (digits.length !== precision + 1 && size !== 0) {
    exponent += digits.length > precision + 1 ? 1 : -1;
    digits = String(rounded(size, precision - exponent));
  }
  const power = String(Math.abs(exponent)).padStart(2, '0');
  return `${sign}${withPoint(digits, precision)}e${exponent < 0 ? '-' : '+'}${power}`;
};

const withPoint = (digits: string, decimals: number): string => {
  const padded = digits.padStart(decimals + 1, '0');
  const point = padded.length - decimals;
  return decimals === 0 ? padded : `${padded.slice(0, point)}.${padded.slice(point)}`;
};

const DOUBLE = new DataView(new ArrayBuffer(8));
const [MANTISSA_BITS, EXPONENT_BIAS] = [52n, 1_075n];

/** Returns the integer that is nearest to the exact value of a double, which is not negative, times a power of ten. */
const rounded = (value: number, powerOfTen: number): bigint => {
  DOUBLE.setFloat64(0, value);
  const bits = DOUBLE.getBigUint64(0);
  const biased = bits >> MANTISSA_BITS;
  const fraction = BigInt.asUintN(Number(MANTISSA_BITS), bits);
  const mantissa = biased === 0n ? fraction : fraction | (1n << MANTISSA_BITS);
  const exponent = (biased === 0n ? 1n : biased) - EXPONENT_BIAS;
  const numerator =
    mantissa * (exponent > 0n ? 1n << exponent : 1n) * (powerOfTen > 0 ? 10n ** BigInt(powerOfTen) : 1n);
  const denominator = (exponent < 0n ? 1n << -exponent : 1n) * (powerOfTen < 0 ? 10n ** BigInt(-powerOfTen) : 1n);
  const whole = numerator / denominator;
  const twice = (numerator % denominator) * 2n;
  return twice > denominator || (twice === denominator && whole % 2n === 1n) ? whole + 1n : whole;
};
