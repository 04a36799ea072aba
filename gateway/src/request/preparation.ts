import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LazyExpression } from '@standin/responses';

/** The length of the expressions that are compiled in one turn of the event loop. The last one of a turn may exceed it. */
const TURN_LENGTH = 512;

/** Compiles the expressions of an endpoint when its first request arrives. */
export class Preparation {
  readonly #parameters: readonly string[];
  readonly #waiting: LazyExpression[];
  #running: Promise<void> | undefined;

  constructor(expressions: readonly LazyExpression[], parameters: readonly string[]) {
    this.#parameters = parameters;
    this.#waiting = [...expressions];
  }

  /**
   * Returns undefined if all expressions are compiled. Otherwise resolves when they are. Compiling takes several turns of the event loop, so
   * that other requests do not wait.
   */
  finish(): Promise<void> | undefined {
    if (this.#waiting.length === 0) return this.#running;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn();
      for (let length = 0; length < TURN_LENGTH;) {
        const next = this.#waiting.shift();
        if (next === undefined) break;
        next.compile(this.#parameters);
        length += next.source.length;
      }
    }
    await nextTurn();
  }
}
