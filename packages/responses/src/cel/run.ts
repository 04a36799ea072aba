import { celEnv, isCelError, parse, plan, type CelValue } from '@bufbuild/cel';
import type { Budget } from '../budget.ts';
import type { AbsentError } from './expression-error.ts';
import type { RandomSequence } from './random-sequence.ts';

/** What expressions that are evaluated for one request share. */
export interface Run {
  readonly budget: Budget;
  readonly random: RandomSequence;
  /**
   * How the number that the last step returned is written in the request, such as `12.50`. Undefined if it is written nowhere, or in the same
   * way as `String()` writes it. Each step that makes or reads a value sets it.
   */
  written: string | undefined;
  /** Returns the value of a declared variable, or the reason why it is absent. Sets `written`. */
  variable(name: string): CelValue | AbsentError;
}

let current: Run | undefined;

/** Returns the run that functions of the library are called in. */
export const currentRun = (): Run => {
  if (current === undefined) throw new Error('no expression is being evaluated');
  return current;
};

/** The library's functions work only while the library evaluates an expression. This one calls `enteredAction`. */
const enter = plan(celEnv(), parse('result'));
let enteredAction: () => void = () => undefined;
/** There is only one object for all calls, because an object with a getter is slow to create and to collect. */
const VARIABLES = {
  get result(): null {
    enteredAction();
    return null;
  },
};

/** Calls an action in which the library's functions work. */
export const withRun = <T>(run: Run, action: () => T): T => {
  if (current === run) return action();
  const results: T[] = [];
  const previous = { current, enteredAction };
  const { stackTraceLimit } = Error;
  current = run;
  enteredAction = () => results.push(action());
  // An expression can cause thousands of errors. Capturing the stack trace of one takes 20 µs.
  Error.stackTraceLimit = 0;
  try {
    const outcome = enter(VARIABLES);
    if (isCelError(outcome)) throw outcome.cause;
  } finally {
    ({ current, enteredAction } = previous);
    Error.stackTraceLimit = stackTraceLimit;
  }
  return results[0] as T;
};
