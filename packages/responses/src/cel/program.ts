import type { CelType, CelValue, parse } from '@bufbuild/cel';
import { ownMember } from '@standin/contract';
import { ExpressionError, ExpressionProblem } from './expression-error.ts';
import type { Run } from './run.ts';

/** A node of the syntax tree that the library's parser returns. */
export type Expr = ReturnType<typeof parse>['expr'];
export type Part<C extends Expr['exprKind']['case']> = Extract<Expr['exprKind'], { case: C }>['value'];

export type Result = CelValue | ExpressionError;

/** The state of one evaluation. */
export interface Frame {
  readonly run: Run;
  /** The variables of macros, by slot. */
  readonly locals: Result[];
  /** How the numbers in `locals` are written, by slot. */
  readonly texts: (string | undefined)[];
  /** The items of the lists that macros build, by slot. */
  readonly lists: CelValue[][];
}

/** Evaluating a step takes about this many units, without calls of functions. */
export const STEP_UNITS = 4;

export type Step = (frame: Frame) => Result;

/** A part of an expression that was checked. */
export interface Compiled {
  /** `dyn` if the type depends on the request. */
  readonly type: CelType;
  readonly step: Step;
}

interface Local {
  readonly slot: number;
  readonly type: CelType;
}

/** What a part of an expression can refer to. */
export interface Scope {
  /** Checks and compiles a part of the expression. Throws an `ExpressionProblem` if it has an error. */
  readonly compile: (expr: Expr | undefined, scope: Scope) => Compiled;
  /** The types of the variables, by name. Names can contain dots. */
  readonly variables: ReadonlyMap<string, CelType>;
  readonly locals: ReadonlyMap<string, Local>;
  readonly source: string;
  /** The offsets of the nodes in the source, by id. */
  readonly positions: Readonly<Record<string, number>>;
  readonly macrosMax: number;
  /** How much of each kind the whole expression has so far. */
  readonly counts: { steps: number; locals: number; macros: number; patternSize: number };
}

export const sourceOffset = ({ id }: Pick<Expr, 'id'>, { positions }: Scope): number =>
  ownMember(positions, String(id)) ?? 0;

export const problemAt = (scope: Scope, expr: Pick<Expr, 'id'>, message: string): ExpressionProblem =>
  new ExpressionProblem(sourceOffset(expr, scope), message);

/** No name has more parts, so longer chains of fields are not compared with names. */
const NAME_PARTS_MAX = 8;

/** Returns a name with dots if the expression is one, and does not begin with the variable of a macro. */
export const qualifiedName = (expr: Expr | undefined, { locals }: Scope): string | undefined => {
  const names: string[] = [];
  let part = expr;
  for (; part?.exprKind.case === 'selectExpr'; part = part.exprKind.value.operand) {
    names.unshift(part.exprKind.value.field);
    if (names.length === NAME_PARTS_MAX) return undefined;
  }
  if (part?.exprKind.case !== 'identExpr' || locals.has(part.exprKind.value.name)) return undefined;
  return [part.exprKind.value.name.replace(/^\./, ''), ...names].join('.');
};

/** Only values of these types have a text in `Run.written`. */
export const isNumber = (value: Result): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

/** @param texts gets how each value is written, if it is a number. See `Run.written`. */
export const evaluateSteps = (
  steps: readonly Step[],
  frame: Frame,
  texts?: (string | undefined)[],
): CelValue[] | ExpressionError => {
  const values: CelValue[] = [];
  for (const step of steps) {
    const value = step(frame);
    if (value instanceof ExpressionError) return value;
    values.push(value);
    texts?.push(isNumber(value) ? frame.run.written : undefined);
  }
  return values;
};
