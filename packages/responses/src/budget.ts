import { LIMITS } from '@standin/contract';

/** Characters or bytes that V8 copies, compares or scans in the time of one unit. */
const CHARACTERS_PER_UNIT = 16;

/** Thrown when a budget is used up. Unlike an `ExpressionError`, no operator of an expression can absorb it. */
export class BudgetExhausted extends Error {}

/**
 * Limits the CPU time for choosing and rendering the response to one request: conditions, the JSON of the body, expressions and templates. One
 * unit is about 10 ns. Work is charged before it is done, except by loops that charge as they run.
 */
export class Budget {
  #units: number;

  constructor(units: number = LIMITS.responseUnitsMax) {
    this.#units = units;
  }

  /** Throws `BudgetExhausted` if there are fewer units left. It then throws every time. */
  charge(units: number): void {
    this.#units -= units;
    if (this.#units < 0) throw new BudgetExhausted('the budget is exhausted');
  }

  /** Charges an operation that reads or writes this many characters or bytes once. */
  chargeText(length: number): void {
    this.charge(1 + length / CHARACTERS_PER_UNIT);
  }
}
