import { celList, CelScalar, celType, isCelList, isCelMap, type CelType, type CelValue } from '@bufbuild/cel';
import { ExpressionError } from './expression-error.ts';
import { keepNumberTexts, numberTexts, withNumberText } from './number-texts.ts';
import { isNumber, problemAt, STEP_UNITS, type Compiled, type Expr, type Part, type Scope } from './program.ts';

const { BOOL, DYN } = CelScalar;

/** Compiles `all`, `exists`, `exists_one`, `filter` or `map`, which the parser turns into loops. */
export const compileMacro = (expr: Expr, loop: Part<'comprehensionExpr'>, scope: Scope): Compiled => {
  const { counts } = scope;
  counts.macros += 1;
  if (counts.macros > scope.macrosMax)
    throw problemAt(scope, expr, 'only one of all(), exists(), exists_one(), filter() and map() is allowed');
  const range = scope.compile(loop.iterRange, scope);
  const initial = scope.compile(loop.accuInit, scope);
  const itemSlot = counts.locals++;
  const resultSlot = counts.locals++;
  const inside = {
    ...scope,
    locals: new Map([
      ...scope.locals,
      [loop.accuVar, { slot: resultSlot, type: initial.type }],
      [loop.iterVar, { slot: itemSlot, type: rangeItemType(range.type, expr, scope) }],
    ]),
  };
  const stepsBefore = counts.steps;
  const condition = scope.compile(loop.loopCondition, inside).step;
  const repeated = scope.compile(loop.loopStep, inside).step;
  const result = scope.compile(loop.result, inside);
  const unitsPerItem = (counts.steps - stepsBefore) * STEP_UNITS;
  return {
    type: result.type,
    step: (frame) => {
      const from = range.step(frame);
      if (from instanceof ExpressionError) return from;
      const items = rangeItems(from);
      const texts = isCelList(from) ? numberTexts(from) : undefined;
      let index = 0;
      if (items === undefined) return new ExpressionError(`a value of type ${celType(from).name} has no items`);
      frame.lists[resultSlot] = [];
      frame.locals[resultSlot] = isList(initial.type) ? celList(frame.lists[resultSlot]) : initial.step(frame);
      for (const item of items) {
        frame.run.budget.charge(unitsPerItem);
        frame.locals[itemSlot] = item;
        frame.texts[itemSlot] = texts?.get(index++);
        if (condition(frame) !== true) break;
        const next = repeated(frame);
        // Only a later item of all() or exists() can absorb the error.
        if (next instanceof ExpressionError && initial.type !== BOOL) return next;
        frame.locals[resultSlot] = next;
      }
      return result.step(frame);
    },
  };
};

const isList = (type: CelType): boolean => type.kind === 'list';

const rangeItems = (value: CelValue): Iterable<CelValue> | undefined =>
  isCelMap(value) ? value.keys() : isCelList(value) ? value : undefined;

const rangeItemType = (type: CelType, expr: Expr, scope: Scope): CelType => {
  if (type.kind === 'list') return type.element;
  if (type.kind === 'map') return type.key;
  if (type === DYN) return DYN;
  throw problemAt(scope, expr, `a value of type ${type.name} has no items: use a list or a map`);
};

/**
 * Compiles the addition of an item to the list that a macro builds. The library would build a list of two lists for each item, which takes
 * quadratic time to read. Returns undefined for other calls.
 */
export const compileAppend = ({ function: name, args }: Part<'callExpr'>, scope: Scope): Compiled | undefined => {
  const [list, added] = args;
  if (name !== '_+_' || list?.exprKind.case !== 'identExpr' || added?.exprKind.case !== 'listExpr') return undefined;
  const local = scope.locals.get(list.exprKind.value.name);
  // Names in expressions never begin with @.
  if (local === undefined || !list.exprKind.value.name.startsWith('@')) return undefined;
  const item = scope.compile(added.exprKind.value.elements[0], scope).step;
  return {
    type: local.type,
    step: (frame) => {
      const value = item(frame);
      if (value instanceof ExpressionError) return value;
      const items = frame.lists[local.slot];
      const built = frame.locals[local.slot] ?? null;
      const text = isNumber(value) ? frame.run.written : undefined;
      if (text !== undefined && items !== undefined && !(built instanceof ExpressionError) && isCelList(built))
        keepNumberTexts(built, withNumberText(numberTexts(built), items.length, text));
      items?.push(value);
      return built;
    },
  };
};
