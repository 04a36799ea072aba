import { parse, type CelType } from '@bufbuild/cel';
import { ExprSchema } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { LIMITS } from '@standin/contract';
import { BudgetExhausted } from '../budget.ts';
import { compile } from './compile.ts';
import { ExpressionError, ExpressionProblem, OUT_OF_BUDGET } from './expression-error.ts';
import { STEP_UNITS, type Expr, type Result, type Scope, type Step } from './program.ts';
import { withRun, type Run } from './run.ts';

/** An expression that was checked. It can be evaluated many times. */
export interface Expression {
  readonly type: CelType;
  /** The units of the budget that an evaluation takes without calls of functions and repetitions of macros. */
  readonly units: number;
  readonly step: Step;
}

/** An expression's syntax tree. */
export interface SyntaxTree {
  /** In protobuf's binary form, about 3 bytes for each character of the expression. Undefined before the expression is parsed. */
  encoded: Uint8Array | undefined;
}

export interface ExpressionOptions {
  /** The types of the variables, by name. Names can contain dots. */
  readonly variables: ReadonlyMap<string, CelType>;
  /** The maximum number of macros that repeat a part for each item of a list. Default: 1. */
  readonly macrosMax?: number;
  /**
   * The syntax tree that an earlier call for the same expression has set here, so that nothing is parsed. Errors then have no position.
   */
  readonly tree?: SyntaxTree | undefined;
}

/** Checks an expression, and prepares it. Throws an `ExpressionProblem` if it has an error. */
export const compileExpression = (source: string, options: ExpressionOptions): Expression => {
  const { variables, macrosMax = 1, tree } = options;
  const { expr, positions } = tree?.encoded === undefined ? parsed(source, tree) : decoded(tree.encoded);
  const counts = { steps: 0, locals: 0, macros: 0, patternSize: 0 };
  const { type, step } = compile(expr, {
    compile,
    variables,
    locals: new Map(),
    source,
    positions,
    macrosMax,
    counts,
  });
  return { type, units: counts.steps * STEP_UNITS, step };
};

/** The time that the parser takes grows with the square of the nesting. Brackets in strings count, too. */
const checkNesting = (source: string): void => {
  const max = LIMITS.expressionNestingMax;
  let depth = 0;
  for (const { 0: bracket, index } of source.matchAll(/[([{]|[)\]}]/g)) {
    depth = '([{'.includes(bracket) ? depth + 1 : Math.max(0, depth - 1);
    if (depth > max) throw new ExpressionProblem(index, `brackets are nested more than ${max} levels deep`);
  }
};

interface Parsed {
  readonly expr: Expr;
  readonly positions: Scope['positions'];
}

const parsed = (source: string, tree: SyntaxTree | undefined): Parsed => {
  const max = LIMITS.expressionLengthMax;
  if (source.length > max) throw new ExpressionProblem(max, `an expression can have at most ${max} characters`);
  if (source.trim() === '') throw new ExpressionProblem(0, 'the expression is empty');
  checkNesting(source);
  try {
    const { expr, sourceInfo } = parse(source);
    if (tree !== undefined) tree.encoded = toBinary(ExprSchema, expr);
    return { expr, positions: sourceInfo?.positions ?? {} };
  } catch (error) {
    throw parserProblem(source, error);
  }
};

const decoded = (encoded: Uint8Array): Parsed => ({ expr: fromBinary(ExprSchema, encoded), positions: {} });

/** Describes an error of the library's parser, which does not export the class. */
const parserProblem = (source: string, error: unknown): ExpressionProblem => {
  if (!(error instanceof Error)) throw error;
  const { location, rawMessage, found } = error as Partial<ParserError>;
  const offset = location?.start.offset ?? 0;
  if (found === undefined) return new ExpressionProblem(offset, rawMessage ?? error.message);
  return new ExpressionProblem(offset, unexpected(source.slice(offset)));
};

/** An operator, a word or any other character at the beginning. */
const TOKEN = /^(?:[=!<>]=|&&|\|\||\w{1,40}|[^])/u;
const OPERATORS: ReadonlySet<string> = new Set([
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  '&&',
  '||',
  '+',
  '-',
  '*',
  '/',
  '%',
]);

/** Describes the rest of an expression that the parser does not accept. It begins with the last operator if its value is missing. */
const unexpected = (rest: string): string => {
  const token = TOKEN.exec(rest)?.[0];
  if (token === undefined) return 'the expression ends unexpectedly';
  if (OPERATORS.has(token) && rest.slice(token.length).trim() === '') return `a value is missing after ${token}`;
  return token === '=' ? '= is unexpected: to compare, use ==' : `${token} is unexpected`;
};

interface ParserError {
  readonly location: { readonly start: { readonly offset: number } };
  readonly rawMessage: string;
  readonly found: string;
}

export const evaluate = ({ units, step }: Expression, run: Run): Result => {
  try {
    return withRun(run, () => {
      run.budget.charge(units);
      return step({ run, locals: [], texts: [], lists: [] });
    });
  } catch (error) {
    if (error instanceof BudgetExhausted) return OUT_OF_BUDGET;
    return new ExpressionError(`the expression cannot be evaluated: ${String(error)}`);
  }
};
