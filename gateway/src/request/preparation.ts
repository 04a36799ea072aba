import { setImmediate as nextTurn } from 'node:timers/promises';
import { LIMITS } from '@standin/contract';
import type { LazyExpression } from '@standin/responses';

/** The length of the expressions that are compiled in one turn of the event loop. The last one of a turn may exceed it. */
const TURN_LENGTH = 512;
/** The memory that each character of a compiled expression takes, as measured. */
const EXPRESSION_BYTES = 50;

/** What is compiled when a request arrives. */
export interface Prepared<Response> {
  readonly responses: readonly Response[];
  /** Including those of the action. */
  readonly expressions: readonly LazyExpression[];
  /** The estimated memory of the responses, in bytes, without that of the expressions. */
  readonly responseBytes: number;
}

const NOTHING: Prepared<never> = { responses: [], expressions: [], responseBytes: 0 };

/**
 * Compiles the responses and the expressions of an endpoint when its first request arrives. All endpoints together keep about
 * `LIMITS.compiledBytesMax` bytes compiled, because the gateway may have many endpoints and gets requests for few of them.
 */
export class Preparation<Response> {
  /** The endpoints that are compiled, oldest first, including those that are no longer in the configuration. */
  static readonly #compiled = new Set<Preparation<unknown>>();
  static #compiledBytes = 0;

  readonly #parameters: readonly string[];
  readonly #prepare: () => Prepared<Response>;
  #prepared: Prepared<Response> | undefined;
  #isFinished = false;
  /** Whether a request has arrived since the endpoint was last considered for being forgotten. */
  #isUsed = false;
  #running: Promise<void> | undefined;

  /** @param prepare undefined if there is nothing to compile */
  constructor(prepare: (() => Prepared<Response>) | undefined, parameters: readonly string[]) {
    this.#prepare = prepare ?? (() => NOTHING);
    this.#parameters = parameters;
    if (prepare === undefined) this.#prepared = NOTHING;
    this.#isFinished = prepare === undefined;
  }

  /** Tried in order before the action. Compiled again for a request that began before they were forgotten. */
  get responses(): readonly Response[] {
    return (this.#prepared ?? this.#prepare()).responses;
  }

  /**
   * Returns undefined if everything is compiled. Otherwise resolves when it is. Compiling takes several turns of the event loop, so that
   * other requests do not wait.
   */
  finish(): Promise<void> | undefined {
    this.#isUsed = true;
    if (this.#isFinished) return undefined;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #run(): Promise<void> {
    await nextTurn();
    const prepared = (this.#prepared ??= this.#prepare());
    let length = 0;
    for (const expression of prepared.expressions) {
      expression.compile(this.#parameters);
      length += expression.source.length;
      if (length < TURN_LENGTH) continue;
      await nextTurn();
      length = 0;
    }
    await nextTurn();
    this.#isFinished = true;
    Preparation.#keep(this, prepared);
  }

  /** Forgets other endpoints if there are too many, those that got no request for the longest time first. */
  static #keep(added: Preparation<unknown>, prepared: Prepared<unknown>): void {
    this.#compiled.add(added);
    this.#compiledBytes += bytesOf(prepared);
    for (const oldest of this.#compiled) {
      if (this.#compiledBytes <= LIMITS.compiledBytesMax) break;
      this.#compiled.delete(oldest);
      if (oldest.#isUsed) this.#compiled.add(oldest);
      else oldest.#forget();
      oldest.#isUsed = false;
    }
  }

  /** A request that is being handled compiles again what it needs. */
  #forget(): void {
    const prepared = this.#prepared ?? NOTHING;
    Preparation.#compiledBytes -= bytesOf(prepared);
    for (const expression of prepared.expressions) expression.forget();
    this.#prepared = undefined;
    this.#isFinished = false;
  }
}

const bytesOf = ({ expressions, responseBytes }: Prepared<unknown>): number =>
  responseBytes + EXPRESSION_BYTES * expressions.reduce((sum, { source }) => sum + source.length, 0);
