import { ExpressionError } from './cel/expression-error.ts';
import { parseExpression, type ParsedExpression, type RequestExpressions } from './request-expressions.ts';

/** A condition that is met if an expression is true. */
export class CelCondition {
  readonly on = 'cel';
  readonly source: string;
  #parsed: ParsedExpression | undefined;

  constructor(source: string) {
    this.source = source;
  }

  /** Returns the condition if the request does not meet it. */
  unmet(request: RequestExpressions): { condition: CelCondition; error: string | undefined } | undefined {
    const value = this.#valueFor(request);
    if (value === true) return undefined;
    if (value === false) return { condition: this, error: undefined };
    return {
      condition: this,
      error: value instanceof ExpressionError ? value.message : 'the value is neither true nor false',
    };
  }

  #valueFor(request: RequestExpressions): ReturnType<RequestExpressions['evaluate']> {
    // A gateway has many expressions and gets requests for few of them, and the operator has checked all of them.
    this.#parsed ??= parseExpression(this.source, request.facts.parameterNames());
    const parsed = this.#parsed;
    return parsed.ok ? request.evaluate(parsed.expression) : new ExpressionError(parsed.message);
  }
}
