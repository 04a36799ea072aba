import { celEnv, celType, isCelError, type CelFunc, type CelType, type CelValue } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { LIMITS } from '@standin/contract';
import type { Budget } from '../budget.ts';
import { CONTENT_FUNCTIONS } from './content-functions.ts';
import { ExpressionError } from './expression-error.ts';
import type { Run } from './run.ts';
import { STRING_FUNCTIONS, TOO_LONG } from './string-functions.ts';
import { CALENDAR_FUNCTIONS, TIME_FUNCTIONS } from './time-functions.ts';
import { chargeContent, VALUE_FUNCTIONS } from './value-functions.ts';

/** Later functions replace earlier ones with the same types. */
const { funcs } = celEnv({
  funcs: [...strings, ...STRING_FUNCTIONS, ...TIME_FUNCTIONS, ...VALUE_FUNCTIONS, ...CONTENT_FUNCTIONS],
});

/** Returns the functions, or the variants of an operator, with this name. Operators have names such as `_+_`. */
export const findOverloads = (name: string): readonly CelFunc[] => [...(funcs.find(name) ?? [])];

/** Functions that the parser turns into loops or tests. */
const MACROS = ['has', 'all', 'exists', 'exists_one', 'filter', 'map'];

/** The names of all functions, without operators. */
export const functionNames = (): readonly string[] => [
  ...new Set([...MACROS, ...[...funcs].map(({ name }) => name).filter((name) => /^[a-z]/i.test(name))]),
];

/** Calls a function of one argument without charging for it. Returns undefined if the function cannot be applied. */
export const convertValue = (name: string, value: CelValue): CelValue | undefined => {
  const result = funcs.find(name)?.call(0, undefined, [value]);
  return isCelError(result) ? undefined : result;
};

/** A call of a function. */
export interface Call {
  readonly target: CelValue | undefined;
  readonly values: CelValue[];
}

/** The library finds the types of the arguments and tries the overloads. */
const CALL_UNITS = 200;
/** The library creates two errors. */
const ERROR_UNITS = 1_000;
/** A time is read or written. */
const CONVERSION_UNITS = 300;
/** A layout of the longest length is read and written. */
const LAYOUT_UNITS = 2_000;
/** Creates an `Intl` object. */
const INTL_UNITS = 10_000;

type Charge = (call: Call, budget: Budget) => void;

const perCharacter =
  (units: number): Charge =>
  ({ target, values }, budget) => {
    for (const value of [target, ...values]) budget.charge(units * stringLength(value));
  };

const chargeTexts: Charge = ({ target, values }, budget) => {
  budget.chargeText(stringLength(target));
  for (const value of values) budget.chargeText(stringLength(value));
};

const chargeConversion: Charge = (call, budget) => {
  budget.charge(CONVERSION_UNITS);
  perCharacter(10)(call, budget);
};

const chargeTimeZone: Charge = (call, budget) => {
  budget.charge(call.values.length * INTL_UNITS);
  perCharacter(1)(call, budget);
};

const chargeFormatTime: Charge = (call, budget) => {
  budget.charge(LAYOUT_UNITS + (call.values.length > 2 ? INTL_UNITS : 0));
  perCharacter(1)(call, budget);
};

/** The functions that take longer than reading their strings once. Functions of our own charge for lists and maps. */
const CHARGES: ReadonlyMap<string, Charge> = new Map<string, Charge>([
  ...['lowerAscii', 'upperAscii', 'strings.quote'].map((name) => [name, perCharacter(4)] as const),
  ...['_<_', '_<=_', '_>_', '_>=_'].map((name) => [name, perCharacter(1 / 4)] as const),
  ...['bytes', 'trim'].map((name) => [name, perCharacter(2)] as const),
  ...['string', 'timestamp', 'duration'].map((name) => [name, chargeConversion] as const),
  ...CALENDAR_FUNCTIONS.map((name) => [name, chargeTimeZone] as const),
  ['formatTime', chargeFormatTime],
  ...['escapeXml', 'escapeHtml'].map((name) => [name, perCharacter(6)] as const),
  ['base64', perCharacter(1)],
  ['join', ({ target }, budget) => (target === undefined ? undefined : chargeContent(target, budget))],
]);

const stringLength = (value: CelValue | undefined): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;

/** Returns a function that charges for a call before it makes the call. Throws `BudgetExhausted`. */
export const chargedFunction = (name: string): ((call: Call, run: Run) => CelValue | ExpressionError) => {
  const group = funcs.find(name);
  const charge = CHARGES.get(name) ?? chargeTexts;
  return (call, { budget }) => {
    budget.charge(CALL_UNITS);
    charge(call, budget);
    const result = group?.call(0, call.target, call.values);
    if (result === undefined) return new ExpressionError(mismatchText(name, callTypes(call)));
    if (isCelError(result)) {
      // The library catches BudgetExhausted, too. This line throws it again.
      budget.charge(ERROR_UNITS);
      return new ExpressionError(result.message);
    }
    return stringLength(result) > LIMITS.expressionTextLengthMax ? new ExpressionError(TOO_LONG) : result;
  };
};

const callTypes = ({ target, values }: Call): CelType[] =>
  [...(target === undefined ? [] : [target]), ...values].map((value) => celType(value));

/** Explains that no overload of a function or operator takes these types. The type of the target is the first one. */
export const mismatchText = (name: string, types: readonly CelType[]): string =>
  `${displayName(name)} does not take (${types.map((type) => type.name).join(', ')}): convert a value, for example with string() or double()`;

/** Returns the name of a function or operator as it is written in expressions. */
export const displayName = (name: string): string =>
  /^[_@!-]/.test(name) ? name.replaceAll(/^@|_(?!_)/g, '') : `${name}()`;
