import { setImmediate as nextTurn } from 'node:timers/promises';
import { LIMITS } from '@standin/contract';
import type { LazyExpression } from '@standin/responses';

/** The length of the expressions that are compiled in one turn of the event loop. The last one of a turn may exceed it. */
const TURN_LENGTH = 512;

/**
 * Compiles the expressions of an endpoint when its first request arrives. All endpoints together keep `LIMITS.compiledLengthMax` characters of
 * expressions compiled: the gateway may have many endpoints, and a compiled expression takes 50 bytes for each character.
 */
export class Preparation {
  /** The endpoints whose expressions are compiled, oldest first, including those that are no longer in the configuration. */
  static readonly #compiled = new Set<Preparation>();
  static #compiledLength = 0;

  readonly #parameters: readonly string[];
  readonly #expressions: readonly LazyExpression[];
  /** The number of expressions that are compiled. */
  #count = 0;
  /** Whether a request has arrived since the expressions were last considered for being forgotten. */
  #isUsed = false;
  #running: Promise<void> | undefined;

  constructor(expressions: readonly LazyExpression[], parameters: readonly string[]) {
    this.#parameters = parameters;
    this.#expressions = expressions;
  }

  /**
   * Returns undefined if all expressions are compiled. Otherwise resolves when they are. Compiling takes several turns of the event loop, so
   * that other requests do not wait.
   */
  finish(): Promise<void> | undefined {
    this.#isUsed = true;
    if (this.#count === this.#expressions.length) return this.#running;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #run(): Promise<void> {
    while (this.#count < this.#expressions.length) {
      await nextTurn();
      for (let length = 0; length < TURN_LENGTH;) {
        const next = this.#expressions[this.#count];
        if (next === undefined) break;
        next.compile(this.#parameters);
        length += next.source.length;
        this.#count += 1;
      }
    }
    Preparation.#keep(this);
    await nextTurn();
  }

  get #length(): number {
    return this.#expressions.reduce((sum, { source }) => sum + source.length, 0);
  }

  /** Forgets the expressions of other endpoints if there are too many, those that got no request for the longest time first. */
  static #keep(added: Preparation): void {
    this.#compiled.add(added);
    this.#compiledLength += added.#length;
    for (const oldest of this.#compiled) {
      if (this.#compiledLength <= LIMITS.compiledLengthMax) break;
      this.#compiled.delete(oldest);
      if (oldest.#isUsed) this.#compiled.add(oldest);
      else oldest.#forget();
      oldest.#isUsed = false;
    }
  }

  /** A request that is being handled compiles the expressions again when it needs them. */
  #forget(): void {
    Preparation.#compiledLength -= this.#length;
    this.#count = 0;
    for (const expression of this.#expressions) expression.forget();
  }
}
