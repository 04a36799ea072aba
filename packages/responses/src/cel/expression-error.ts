/** Messages can contain values of the request. */
const MESSAGE_LENGTH_MAX = 300;

/** Why the evaluation of an expression failed for a request. */
export class ExpressionError {
  /** What is wrong, as a phrase that begins in lower case and has no full stop. */
  readonly message: string;

  constructor(message: string) {
    this.message = message.length > MESSAGE_LENGTH_MAX ? `${message.slice(0, MESSAGE_LENGTH_MAX)}…` : message;
  }
}

/** The value is absent: a field, an item or a variable that this request does not have. Only `default()` tells it from other errors. */
export class AbsentError extends ExpressionError {}

export const OUT_OF_BUDGET = new ExpressionError(
  'the conditions and templates of the endpoint take too long for this request',
);

/** Thrown if an expression cannot be compiled. The message says what is wrong and what to change, as a phrase without a full stop. */
export class ExpressionProblem extends Error {
  /** The index of the character where the problem is. */
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}
