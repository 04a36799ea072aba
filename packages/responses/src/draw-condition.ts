import { LIMITS, type DrawConfig } from '@standin/contract';
import { ExpressionError } from './cel/expression-error.ts';
import { drawnNumber } from './draw.ts';
import { LazyExpression } from './lazy-expression.ts';
import type { RequestExpressions } from './request-expressions.ts';

/** Why a request does not meet a draw. */
export interface UnmetDraw {
  readonly condition: DrawCondition;
  /** The number that the key drew, or why there is no key, as a phrase without a full stop. */
  readonly drawn: number | ExpressionError;
  /** Undefined if the request draws by itself, or if there is no key. */
  readonly key: string | undefined;
}

/** A condition that is met if the key of the request draws a number below a percent. */
export class DrawCondition {
  readonly on = 'draw';
  readonly percent: number;
  /** Undefined if each request draws by itself: its id is the key. */
  readonly key: LazyExpression | undefined;
  readonly #seed: string;

  constructor({ percent, seed, key }: DrawConfig) {
    this.percent = percent;
    this.#seed = seed;
    this.key = key === undefined ? undefined : new LazyExpression(key);
  }

  unmet(request: RequestExpressions): UnmetDraw | undefined {
    const key = this.key === undefined ? request.id : usableKey(this.key.valueFor(request));
    if (key instanceof ExpressionError) return { condition: this, drawn: key, key: undefined };
    const drawn = drawnNumber(this.#seed, key);
    return drawn < this.percent ? undefined : { condition: this, drawn, key: this.key && key };
  }
}

const usableKey = (value: ReturnType<LazyExpression['valueFor']>): string | ExpressionError => {
  if (value instanceof ExpressionError) return value;
  if (typeof value !== 'string') return NOT_TEXT;
  if (value === '') return EMPTY;
  if (value.length > LIMITS.drawKeyBytesMax || Buffer.byteLength(value) > LIMITS.drawKeyBytesMax) return TOO_LONG;
  return value.isWellFormed() ? value : NOT_UTF8;
};

const NOT_TEXT = new ExpressionError('the value is not a string');
const EMPTY = new ExpressionError('the value is empty');
const TOO_LONG = new ExpressionError(`the value has more than ${LIMITS.drawKeyBytesMax} bytes`);
const NOT_UTF8 = new ExpressionError('the value has half of a surrogate pair, which UTF-8 cannot encode');
