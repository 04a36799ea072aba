import { ExpressionError } from './cel/expression-error.ts';
import { LazyExpression } from './lazy-expression.ts';
import type { RequestExpressions } from './request-expressions.ts';

/** A condition that is met if an expression is true. */
export class CelCondition extends LazyExpression {
  readonly on = 'cel';

  /** Returns the condition if the request does not meet it. */
  unmet(request: RequestExpressions): { condition: CelCondition; error: string | undefined } | undefined {
    const value = this.valueFor(request);
    if (value === true) return undefined;
    if (value === false) return { condition: this, error: undefined };
    return {
      condition: this,
      error: value instanceof ExpressionError ? value.message : 'the value is neither true nor false',
    };
  }
}
