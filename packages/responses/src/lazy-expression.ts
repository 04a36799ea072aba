import type { SyntaxTree } from './cel/compile-expression.ts';
import { ExpressionError } from './cel/expression-error.ts';
import { parseExpression, type ParsedExpression, type RequestExpressions } from './request-expressions.ts';

/**
 * An expression that is compiled when a request first needs it, which takes up to 10 ms for `LIMITS.expressionLengthMax` characters. A
 * gateway has many expressions and gets requests for few of them, and the operator has checked all of them.
 */
export class LazyExpression {
  readonly source: string;
  /** Makes `compile` about six times as fast, except for the first time. */
  readonly tree: SyntaxTree = { encoded: undefined };
  #parsed: ParsedExpression | undefined;

  constructor(source: string) {
    this.source = source;
  }

  /** Compiles the expression if it is not compiled yet. The parameters of the endpoint's slug must be the same in all calls. */
  compile(parameters: readonly string[]): ParsedExpression {
    this.#parsed ??= parseExpression(this.source, parameters, this.tree);
    return this.#parsed;
  }

  /** Frees the memory of the compiled expression. It is compiled again when a request needs it. */
  forget(): void {
    this.#parsed = undefined;
  }

  valueFor(request: RequestExpressions): ReturnType<RequestExpressions['evaluate']> {
    const parsed = this.#parsed ?? this.compile(request.facts.parameterNames());
    return parsed.ok ? request.evaluate(parsed.expression) : new ExpressionError(parsed.message);
  }
}
