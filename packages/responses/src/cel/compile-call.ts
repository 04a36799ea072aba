import {
  CelScalar,
  celType,
  isCelList,
  isCelMap,
  isCelUint,
  type CelFunc,
  type CelType,
  type CelValue,
} from '@bufbuild/cel';
import { didYouMean, LIMITS } from '@standin/contract';
import { parseRegularExpression, type RegularExpression } from '../regular-expression.ts';
import { compileAppend } from './compile-macro.ts';
import { AbsentError, ExpressionError } from './expression-error.ts';
import { fakeNames, fakeValue, isFakeName } from './fake.ts';
import { chargedFunction, displayName, findOverloads, functionNames, mismatchText } from './functions.ts';
import {
  evaluateSteps,
  problemAt,
  qualifiedName,
  type Compiled,
  type Expr,
  type Part,
  type Result,
  type Scope,
  type Step,
} from './program.ts';
import { numberTexts, textKey } from './number-texts.ts';
import { RandomSequence } from './random-sequence.ts';
import type { Run } from './run.ts';
import { CALENDAR_FUNCTIONS } from './time-functions.ts';
import { checkTimeZone, parseTimeLayout } from './time-layout.ts';
import { equals, isKey, keyText, valueAt } from './value-functions.ts';

const { BOOL, DYN, INT, STRING, UINT } = CelScalar;

/** A call whose arguments are compiled. */
interface Operation {
  readonly expr: Expr;
  readonly name: string;
  readonly target: Compiled | undefined;
  readonly args: readonly Compiled[];
}

/** Compiles a call of a function or an operator. */
export const compileCall = (expr: Expr, call: Part<'callExpr'>, scope: Scope): Compiled => {
  const append = compileAppend(call, scope);
  if (append !== undefined) return append;
  if (call.function === 'matches') return compileMatches(expr, call, scope);
  if (call.function === 'fake') return compileFake(expr, call, scope);
  if (call.function === 'default') return compileDefault(expr, call, scope);
  checkTimeTexts(call, scope);
  const namespaced = `${qualifiedName(call.target, scope) ?? ''}.${call.function}`;
  const isNamespaced = findOverloads(namespaced).length > 0;
  const operation: Operation = {
    expr,
    name: isNamespaced ? namespaced : call.function,
    target: call.target === undefined || isNamespaced ? undefined : scope.compile(call.target, scope),
    args: call.args.map((arg) => scope.compile(arg, scope)),
  };
  switch (call.function) {
    case '_&&_':
      return compileLogic(operation, scope, false);
    case '_||_':
      return compileLogic(operation, scope, true);
    case '!_':
      return compileNot(operation, scope);
    case '_?_:_':
      return compileConditional(operation, scope);
    case '_[_]':
      return compileIndex(operation, scope);
    case '@not_strictly_false': {
      const [step] = argumentSteps(operation);
      return { type: BOOL, step: (frame) => step?.(frame) !== false };
    }
    default:
      return compileFunction(operation, scope);
  }
};

const argumentSteps = ({ args }: Operation): Step[] => args.map(({ step }) => step);

const isDyn = (type: CelType): boolean => type === DYN;

/** Throws an `ExpressionProblem` if an operand is never a value of type bool, regardless of the request. */
const demandBool = (operand: Compiled | undefined, expr: Expr, scope: Scope): void => {
  const type = operand?.type ?? DYN;
  if (!areSame(type, BOOL)) throw problemAt(scope, expr, `a condition must have the type bool, not ${type.name}`);
};

const notBool = (value: CelValue): ExpressionError =>
  new ExpressionError(`a value of type ${celType(value).name} cannot be a condition`);

/** If one side has the value `decisive`, the result is this value, even if the other side is an error. */
const compileLogic = (operation: Operation, scope: Scope, decisive: boolean): Compiled => {
  for (const operand of operation.args) demandBool(operand, operation.expr, scope);
  const [left, right] = argumentSteps(operation);
  return {
    type: BOOL,
    step: (frame) => {
      const one = left?.(frame) ?? null;
      if (one === decisive) return decisive;
      const other = right?.(frame) ?? null;
      if (other === decisive) return decisive;
      for (const value of [one, other])
        if (typeof value !== 'boolean') return value instanceof ExpressionError ? value : notBool(value);
      return !decisive;
    },
  };
};

const compileNot = ({ expr, args: [operand] }: Operation, scope: Scope): Compiled => {
  demandBool(operand, expr, scope);
  return {
    type: BOOL,
    step: (frame) => {
      const value = operand?.step(frame) ?? null;
      if (typeof value === 'boolean') return !value;
      return value instanceof ExpressionError ? value : notBool(value);
    },
  };
};

const compileConditional = (operation: Operation, scope: Scope): Compiled => {
  const [condition, yes, no] = operation.args;
  demandBool(condition, operation.expr, scope);
  const types = [yes?.type ?? DYN, no?.type ?? DYN] as const;
  return {
    type: types[0].name === types[1].name ? types[0] : DYN,
    step: (frame) => {
      const value = condition?.step(frame) ?? null;
      if (typeof value !== 'boolean') return value instanceof ExpressionError ? value : notBool(value);
      return (value ? yes : no)?.step(frame) ?? null;
    },
  };
};

/** Only an absent value is replaced, so that a mistake in an expression is not hidden. */
const compileDefault = (expr: Expr, { target, args }: Part<'callExpr'>, scope: Scope): Compiled => {
  if (target !== undefined || args.length !== 2)
    throw problemAt(scope, expr, "default() needs two arguments, such as default(request.json.note, '')");
  const [wanted, other] = [scope.compile(args[0], scope), scope.compile(args[1], scope)];
  return {
    type: wanted.type.name === other.type.name ? wanted.type : DYN,
    step: (frame) => {
      const value = wanted.step(frame);
      return value instanceof AbsentError ? other.step(frame) : value;
    },
  };
};

/** Reports a layout or a time zone that is a literal and has an error before the first request. */
const checkTimeTexts = ({ function: name, target, args }: Part<'callExpr'>, scope: Scope): void => {
  const isCalendar = target !== undefined && CALENDAR_FUNCTIONS.includes(name);
  const checks =
    name === 'formatTime' ? [undefined, parseTimeLayout, checkTimeZone] : isCalendar ? [checkTimeZone] : [];
  for (const [index, check] of checks.entries()) {
    const arg = args[index];
    const text = literalText(arg);
    try {
      if (text !== undefined) check?.(text);
    } catch (error) {
      throw problemAt(scope, arg ?? { id: 0n }, (error as Error).message);
    }
  }
};

const compileIndex = (operation: Operation, scope: Scope): Compiled => {
  const [{ type } = { type: DYN }, key] = operation.args;
  if (type.kind !== 'list' && type.kind !== 'map' && !isDyn(type))
    throw problemAt(scope, operation.expr, `a value of type ${type.name} has no items: use [] with a list or a map`);
  if (type.kind === 'list' && ![INT, UINT].some((one) => areSame(key?.type ?? DYN, one)))
    throw problemAt(scope, operation.expr, `an index must have the type int, not ${key?.type.name ?? ''}`);
  const steps = argumentSteps(operation);
  return {
    type: type.kind === 'list' ? type.element : type.kind === 'map' ? type.value : DYN,
    step: (frame) => {
      const values = evaluateSteps(steps, frame);
      if (values instanceof ExpressionError) return values;
      const [from = null, at = null] = values;
      return indexedValue(from, at, frame.run);
    },
  };
};

const indexedValue = (container: CelValue, key: CelValue, run: Run): Result => {
  if (isCelMap(container)) {
    if (!isKey(key)) return new ExpressionError(`a value of type ${celType(key).name} cannot be a key of a map`);
    const value = valueAt(container, key, run.budget);
    run.written = numberTexts(container)?.get(textKey(key));
    return value === undefined ? new AbsentError(`there is no field ${keyText(key)}`) : value;
  }
  if (!isCelList(container)) return new AbsentError(`a value of type ${celType(container).name} has no items`);
  const index = isCelUint(key) ? key.value : key;
  const at = typeof index === 'bigint' || typeof index === 'number' ? Number(index) : NaN;
  if (!Number.isInteger(at)) return new ExpressionError(`a value of type ${celType(key).name} cannot be an index`);
  const item = container.get(at);
  run.written = numberTexts(container)?.get(at);
  return item === undefined ? new AbsentError(`there is no item ${at} in a list of ${container.size}`) : item;
};

const compileFunction = (operation: Operation, scope: Scope): Compiled => {
  const { name, target } = operation;
  const type = functionResultType(operation, scope);
  const steps = argumentSteps(operation);
  const [left, right] = steps;
  if ((name === '_==_' || name === '_!=_') && left !== undefined && right !== undefined) {
    return { type, step: comparison(left, right, name === '_==_') };
  }
  const call = chargedFunction(name);
  return {
    type,
    step: (frame) => {
      const value = target?.step(frame);
      if (value instanceof ExpressionError) return value;
      const values = evaluateSteps(steps, frame);
      if (values instanceof ExpressionError) return values;
      frame.run.written = undefined;
      return call({ target: value, values }, frame.run);
    },
  };
};

const comparison =
  (left: Step, right: Step, isEqual: boolean): Step =>
  (frame) => {
    const one = left(frame);
    if (one instanceof ExpressionError) return one;
    const other = right(frame);
    if (other instanceof ExpressionError) return other;
    return equals(one, other, frame.run.budget) === isEqual;
  };

/** Returns the type of a function's result. Throws an `ExpressionProblem` if no overload matches. */
const functionResultType = ({ expr, name, target, args }: Operation, scope: Scope): CelType => {
  const overloads = findOverloads(name);
  if (overloads.length === 0) {
    const near = didYouMean(name, functionNames());
    throw problemAt(scope, expr, `there is no function ${displayName(name)}${near.replace(/\?$/, '()?')}`);
  }
  const types = [...(target === undefined ? [] : [target]), ...args].map(({ type }) => type);
  const fitting = overloads.filter((one) => fits(one, types, target !== undefined));
  const [left = DYN, right = DYN] = types;
  if (fitting.length === 0 || (/^_[=!]=_$/.test(name) && !areComparable(left, right)))
    throw problemAt(scope, expr, mismatchText(name, types));
  const [first] = fitting;
  return first !== undefined && fitting.every(({ result }) => result.name === first.result.name) ? first.result : DYN;
};

const fits = (overload: CelFunc, types: readonly CelType[], hasTarget: boolean): boolean => {
  const wanted = [...(overload.target === undefined ? [] : [overload.target]), ...overload.arguments];
  return (
    (overload.target !== undefined) === hasTarget &&
    wanted.length === types.length &&
    wanted.every((type, index) => areSame(type, types[index] ?? DYN))
  );
};

const areSame = (one: CelType, other: CelType): boolean => isDyn(one) || isDyn(other) || one.name === other.name;

const NUMBERS: readonly string[] = ['int', 'uint', 'double'];

/** Returns whether values of these types can be equal. */
const areComparable = (one: CelType, other: CelType): boolean =>
  areSame(one, other) || (NUMBERS.includes(one.name) && NUMBERS.includes(other.name));

/** The pattern must be a literal, because compiling one takes a long time. */
const compileMatches = (expr: Expr, { target, args }: Part<'callExpr'>, scope: Scope): Compiled => {
  const [text, pattern, ...others] = target === undefined ? args : [target, ...args];
  const source = literalText(pattern);
  if (source === undefined || others.length > 0)
    throw problemAt(scope, expr, 'matches() needs one regular expression in quotes, such as "^[a-z]+$"');
  const { type, step } = scope.compile(text, scope);
  if (!areSame(type, STRING)) throw problemAt(scope, expr, mismatchText('matches', [type, STRING]));
  const { automaton } = compilePattern(source, pattern ?? expr, scope);
  return {
    type: BOOL,
    step: (frame) => {
      const value = step(frame);
      if (value instanceof ExpressionError) return value;
      if (typeof value !== 'string') return new ExpressionError(mismatchText('matches', [celType(value), STRING]));
      // As in CEL, the expression can match any part of the text.
      return automaton.matchesPart(value, frame.run.budget);
    },
  };
};

const compilePattern = (source: string, literal: Expr, scope: Scope): RegularExpression => {
  const { counts } = scope;
  const parsed = parseRegularExpression(source);
  if (!parsed.ok) throw problemAt(scope, literal, `the regular expression ${parsed.message}`);
  counts.patternSize += parsed.expression.size;
  if (counts.patternSize > LIMITS.regularExpressionsSizeMax)
    throw problemAt(
      scope,
      literal,
      'the regular expressions are too large in total: use shorter ones, or smaller counts',
    );
  return parsed.expression;
};

/** Most functions take 10 µs, and the slowest one 35 µs. A new process takes longer. */
const FAKE_UNITS = 6_000;

/** The name must be a literal, so that a wrong name is reported before the first request. */
const compileFake = (expr: Expr, { target, args }: Part<'callExpr'>, scope: Scope): Compiled => {
  const name = literalText(args[0]);
  if (target !== undefined || name === undefined || args.length > 1)
    throw problemAt(scope, expr, "fake() needs one name in quotes, such as 'person.fullName'");
  if (!isFakeName(name))
    throw problemAt(scope, args[0] ?? expr, `fake() has no data named ${name}: ${fakeNames(name)}`);
  const sample = typeof fakeValue(name, new RandomSequence(name));
  return {
    type: sample === 'string' ? STRING : sample === 'boolean' ? BOOL : DYN,
    step: ({ run }) => {
      run.budget.charge(FAKE_UNITS);
      run.written = undefined;
      const value = fakeValue(name, run.random);
      return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
    },
  };
};

const literalText = (expr: Expr | undefined): string | undefined => {
  const literal = expr?.exprKind.case === 'constExpr' ? expr.exprKind.value.constantKind : undefined;
  return literal?.case === 'stringValue' ? literal.value : undefined;
};
