import {
  celList,
  celMap,
  CelScalar,
  celType,
  celUint,
  isCelMap,
  isCelUint,
  listType,
  mapType,
  objectType,
  type CelMap,
  type CelType,
  type CelUint,
  type CelValue,
} from '@bufbuild/cel';
import { listText } from '@standin/contract';
import { compileCall } from './compile-call.ts';
import { compileMacro } from './compile-macro.ts';
import { AbsentError, ExpressionError } from './expression-error.ts';
import { keepNumberTexts, numberTexts, textKey, withNumberText, type NumberTexts } from './number-texts.ts';
import {
  evaluateSteps,
  problemAt,
  qualifiedName,
  sourceOffset,
  type Compiled,
  type Expr,
  type Frame,
  type Part,
  type Result,
  type Scope,
} from './program.ts';

const { BOOL, BYTES, DOUBLE, DYN, INT, NULL, STRING, TYPE, UINT } = CelScalar;
const LIST = listType(DYN);
const MAP = mapType(DYN, DYN);

/** The types that expressions can refer to. */
const TYPES: ReadonlyMap<string, CelType> = new Map(
  [
    ...[BOOL, BYTES, DOUBLE, INT, NULL, STRING, TYPE, UINT, LIST, MAP],
    ...['google.protobuf.Timestamp', 'google.protobuf.Duration'].map((name) => objectType(name)),
  ].map((type) => [type.name, type]),
);

/** Checks a part of an expression, and prepares it. Throws an `ExpressionProblem` if it has an error. */
export const compile = (expr: Expr | undefined, scope: Scope): Compiled => {
  if (expr === undefined) throw problemAt(scope, { id: 0n }, 'the expression is incomplete');
  scope.counts.steps += 1;
  const { exprKind } = expr;
  switch (exprKind.case) {
    case 'constExpr':
      return constant(constantValue(expr, exprKind.value, scope));
    case 'identExpr':
      return compileName(expr, exprKind.value.name, scope);
    case 'selectExpr':
      return compileField(expr, exprKind.value, scope);
    case 'callExpr':
      return compileCall(expr, exprKind.value, scope);
    case 'listExpr':
      return compileList(exprKind.value, scope);
    case 'structExpr':
      return compileMap(expr, exprKind.value, scope);
    case 'comprehensionExpr':
      return compileMacro(expr, exprKind.value, scope);
    default:
      throw problemAt(scope, expr, 'this syntax is not supported');
  }
};

const constant = (value: CelValue): Compiled => ({
  type: celType(value),
  step: ({ run }) => {
    run.written = undefined;
    return value;
  },
});

const constantValue = (expr: Expr, { constantKind }: Part<'constExpr'>, scope: Scope): CelValue => {
  switch (constantKind.case) {
    case 'int64Value':
      if (BigInt.asIntN(64, constantKind.value) === constantKind.value) return constantKind.value;
      throw problemAt(scope, expr, 'the number is out of range of the type int: add .0 for a double');
    case 'uint64Value':
      if (BigInt.asUintN(64, constantKind.value) === constantKind.value) return celUint(constantKind.value);
      throw problemAt(scope, expr, 'the number is out of range of the type uint: write it as a double');
    case 'doubleValue':
      if (Number.isFinite(constantKind.value)) return constantKind.value;
      throw problemAt(scope, expr, 'the number is out of range of the type double');
    case 'bytesValue':
      checkBytes(expr, scope);
      return constantKind.value;
    case 'stringValue':
    case 'boolValue':
      return constantKind.value;
    default:
      return null;
  }
};

/** A raw literal, or one with escapes. */
const BYTES_LITERAL = /[bB](?:[rR]("""|'''|"|')([^]*?)\1|("""|'''|"|')((?:\\[^]|[^\\])*?)\3)/y;
const SURROGATES = /[\ud800-\udfff]/;
const WRONG_ESCAPE = /^(?:[^\\]|\\[^uUxX]|\\[xX][0-9a-fA-F]{2})*\\(?:[uU]|[xX](?![0-9a-fA-F]{2}))/;

/** The library's parser decodes characters after U+FFFF, escapes of Unicode characters and incomplete escapes to other bytes. */
const checkBytes = (expr: Expr, scope: Scope): void => {
  BYTES_LITERAL.lastIndex = sourceOffset(expr, scope);
  const [, , raw = '', , escaped = ''] = BYTES_LITERAL.exec(scope.source) ?? [];
  if (SURROGATES.test(raw + escaped) || WRONG_ESCAPE.test(escaped))
    throw problemAt(
      scope,
      expr,
      'the bytes have a character or an escape that is not supported: use bytes() with a string',
    );
};

const compileName = (expr: Expr, name: string, scope: Scope): Compiled => {
  const local = scope.locals.get(name);
  if (local !== undefined)
    return {
      type: local.type,
      step: ({ run, locals, texts }) => {
        run.written = texts[local.slot];
        return locals[local.slot] ?? null;
      },
    };
  return compileGlobal(name.replace(/^\./, ''), scope) ?? refuseName(expr, name, scope);
};

/** Returns undefined if no variable and no type has this name. */
const compileGlobal = (name: string, { variables }: Scope): Compiled | undefined => {
  const variable = variables.get(name);
  if (variable !== undefined) return { type: variable, step: ({ run }) => run.variable(name) };
  const type = TYPES.get(name);
  return type && constant(type);
};

const refuseName = (expr: Expr, name: string, scope: Scope): never => {
  const fields = variablesBelow(name, scope);
  if (fields.length > 0) throw problemAt(scope, expr, `${name} is not a value: use ${listText(fields, 'or')}`);
  const roots = [...new Set([...scope.variables.keys()].map((one) => one.split('.', 1)[0] ?? ''))];
  throw problemAt(scope, expr, `there is no variable ${name}: use ${listText(roots, 'or')}`);
};

/** Returns the variables whose names begin with this name and a dot. */
const variablesBelow = (name: string, { variables }: Scope): string[] =>
  [...variables.keys()].filter((one) => one.startsWith(`${name}.`));

const compileField = (expr: Expr, { operand, field, testOnly }: Part<'selectExpr'>, scope: Scope): Compiled => {
  const name = qualifiedName(expr, scope);
  const global = name === undefined ? undefined : compileGlobal(name, scope);
  if (global !== undefined)
    return testOnly ? { type: BOOL, step: (frame) => !(global.step(frame) instanceof ExpressionError) } : global;
  const parent = qualifiedName(operand, scope);
  const fields = parent === undefined || scope.variables.has(parent) ? [] : variablesBelow(parent, scope);
  if (fields.length > 0)
    throw problemAt(scope, expr, `${parent ?? ''} has no field ${field}: use ${listText(fields, 'or')}`);
  const { type, step } = compile(operand, scope);
  if (type.kind !== 'map' && type !== DYN)
    throw problemAt(scope, expr, `a value of type ${type.name} has no field ${field}`);
  const read = (frame: Frame): Result | undefined => {
    const map = step(frame);
    if (map instanceof ExpressionError) return map;
    if (!isCelMap(map)) return new AbsentError(`a value of type ${celType(map).name} has no fields`);
    frame.run.written = numberTexts(map)?.get(field);
    return map.get(field);
  };
  if (!testOnly)
    return {
      type: type.kind === 'map' ? type.value : DYN,
      step: (frame) => {
        const value = read(frame);
        return value === undefined ? new AbsentError(`there is no field ${field}`) : value;
      },
    };
  return {
    type: BOOL,
    step: (frame) => {
      const value = read(frame);
      return value instanceof ExpressionError ? value : value !== undefined;
    },
  };
};

const compileList = ({ elements }: Part<'listExpr'>, scope: Scope): Compiled => {
  const steps = elements.map((element) => compile(element, scope).step);
  return {
    type: LIST,
    step: (frame) => {
      const texts: (string | undefined)[] = [];
      const items = evaluateSteps(steps, frame, texts);
      return items instanceof ExpressionError ? items : keepNumberTexts(celList(items), textsByKey(texts));
    },
  };
};

/** Adding an entry to a map takes as long as this many steps. */
const ENTRY_STEPS = 4;

const compileMap = (expr: Expr, { entries, messageName }: Part<'structExpr'>, scope: Scope): Compiled => {
  if (messageName !== '')
    throw problemAt(scope, expr, `messages such as ${messageName} are not supported: use a map, such as {"id": 1}`);
  scope.counts.steps += entries.length * ENTRY_STEPS;
  const keys = entries.map(({ keyKind }) => compile(keyKind.case === 'mapKey' ? keyKind.value : undefined, scope).step);
  const steps = entries.map(({ value }) => compile(value, scope).step);
  return {
    type: MAP,
    step: (frame) => {
      const names = evaluateSteps(keys, frame);
      if (names instanceof ExpressionError) return names;
      const texts: (string | undefined)[] = [];
      const values = evaluateSteps(steps, frame, texts);
      if (values instanceof ExpressionError) return values;
      const map = buildMap(names, values);
      return isCelMap(map) ? keepNumberTexts(map, textsByKey(texts, names)) : map;
    },
  };
};

/** @param keys the keys of a map. Default: the indexes */
const textsByKey = (texts: readonly (string | undefined)[], keys?: readonly CelValue[]): NumberTexts | undefined => {
  let kept: NumberTexts | undefined;
  for (const [index, text] of texts.entries())
    if (text !== undefined)
      kept = withNumberText(kept, keys === undefined ? index : textKey(keys[index] ?? null), text);
  return kept;
};

const buildMap = (keys: readonly CelValue[], values: readonly CelValue[]): CelMap | ExpressionError => {
  const entries = new Map<bigint | string | boolean | CelUint, CelValue>();
  // Numbers of different types are the same key.
  const known = new Set<CelValue>();
  for (const [index, key] of keys.entries()) {
    const name = isCelUint(key) ? key.value : key;
    if (typeof name !== 'bigint' && typeof name !== 'string' && typeof name !== 'boolean')
      return new ExpressionError(`a value of type ${celType(key).name} cannot be a key of a map`);
    if (known.has(name)) return new ExpressionError(`the key ${String(name)} occurs twice in a map`);
    known.add(name);
    entries.set(isCelUint(key) ? key : name, values[index] ?? null);
  }
  return celMap(entries);
};
