import { LIMITS, SharedPool } from '@standin/contract';
import type { LazyExpression } from '@standin/responses';
import { Turns } from './turns.ts';

/** The length of the expressions that are parsed and compiled in one turn of the event loop. The last one of a turn may exceed it. */
const TURN_LENGTH = 512;
/** The length of those that are compiled from their syntax trees. */
const TURN_LENGTH_WITH_TREES = 3_072;
/** The memory that each character of a compiled expression takes, as measured. */
const EXPRESSION_BYTES = 50;
/** After this time, a use counts half. */
const HALF_LIFE_MS = 60_000;
/** An endpoint is compiled instead of another one only if it is used this much more. Otherwise, endpoints that are used in turn would displace each other. */
const DISPLACES_ABOVE = 2;
/** An endpoint without a request for this long is forgotten when others are compiled. */
const IDLE_MS = 600_000;
/** How many endpoints stay compiled for a moment without room for them. */
const GUESTS_MAX = 8;
/** How many endpoints are checked for that when one is compiled. */
const CHECKED_FOR_IDLENESS = 2;

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
 * `LIMITS.compiledBytesMax` bytes compiled, because the gateway may have many endpoints and gets requests for few of them. Each namespace
 * has a share of these bytes, in which its endpoints displace only each other, and a turn of the event loop after each other one. The
 * syntax trees of many more expressions are kept, because parsing takes most of the time.
 */
export class Preparation<Response> {
  static readonly pool = new SharedPool(LIMITS.compiledBytesMax);
  static readonly treePool = new SharedPool(LIMITS.treeBytesMax);
  /** The endpoints that are compiled, by namespace, including those that are no longer in the configuration. */
  static readonly #compiled = new Map<string, Set<Preparation<unknown>>>();
  /** All that are compiled or have syntax trees, in the order in which they are checked for idleness. */
  static readonly #all = new Set<Preparation<unknown>>();
  /** The last endpoints that were compiled without room for them, oldest first. */
  static readonly #guests: Preparation<unknown>[] = [];
  static readonly #turns = new Turns();

  readonly #namespace: string;
  readonly #parameters: readonly string[];
  readonly #prepare: () => Prepared<Response>;
  #prepared: Prepared<Response> | undefined;
  #isFinished = false;
  /** The number of requests, of which earlier ones count less. As of `#usedMs`. */
  #uses = 0;
  #usedMs = 0;
  #running: Promise<void> | undefined;
  /** The encoded syntax trees of the expressions, if there is room for them. */
  #trees: readonly (Uint8Array | undefined)[] | undefined;

  /** @param prepare undefined if there is nothing to compile */
  constructor(prepare: (() => Prepared<Response>) | undefined, parameters: readonly string[], namespace = '') {
    this.#prepare = prepare ?? (() => NOTHING);
    this.#parameters = parameters;
    this.#namespace = namespace;
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
    if (this.#prepared === NOTHING) return undefined;
    const nowMs = performance.now();
    this.#uses = this.#usesAt(nowMs) + 1;
    this.#usedMs = nowMs;
    if (this.#isFinished) return undefined;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  #usesAt(nowMs: number): number {
    return this.#uses * 2 ** ((this.#usedMs - nowMs) / HALF_LIFE_MS);
  }

  async #run(): Promise<void> {
    const nextTurn = () => Preparation.#turns.next(this.#namespace);
    await nextTurn();
    const prepared = (this.#prepared ??= this.#prepare());
    const turnLength = this.#trees === undefined ? TURN_LENGTH : TURN_LENGTH_WITH_TREES;
    let length = 0;
    for (const [index, expression] of prepared.expressions.entries()) {
      expression.tree.encoded ??= this.#trees?.[index];
      expression.compile(this.#parameters);
      length += expression.source.length;
      if (length < turnLength) continue;
      await nextTurn();
      length = 0;
    }
    await nextTurn();
    this.#isFinished = true;
    Preparation.#forgetIdle(performance.now());
    this.#keepTrees(prepared);
    Preparation.#keep(this, prepared);
  }

  #keepTrees({ expressions }: Prepared<Response>): void {
    if (this.#trees !== undefined || expressions.length === 0) return;
    const trees = expressions.map(({ tree }) => tree.encoded);
    if (!Preparation.treePool.take(this.#namespace, treeBytes(trees))) return;
    this.#trees = trees;
    Preparation.#all.add(this);
  }

  /** Keeps what was compiled if there is room, or if it is used more than others of the namespace. */
  static #keep(added: Preparation<unknown>, prepared: Prepared<unknown>): void {
    const namespace = added.#namespace;
    const nowMs = performance.now();
    const own = this.#compiled.get(namespace) ?? new Set<Preparation<unknown>>();
    const bytes = preparedBytes(prepared);
    while (!this.pool.take(namespace, bytes)) {
      const [next] = own;
      if (next === undefined || added.#usesAt(nowMs) <= DISPLACES_ABOVE * next.#usesAt(nowMs)) {
        if (next !== undefined) {
          own.delete(next);
          own.add(next);
        }
        // Requests that wait for the endpoint use it before so many others are compiled.
        this.#guests.push(added);
        const oldest = this.#guests.length > GUESTS_MAX ? this.#guests.shift() : undefined;
        if (oldest !== undefined) oldest.#forget();
        return;
      }
      this.#remove(next);
    }
    this.#compiled.set(namespace, own.add(added));
    this.#all.add(added);
  }

  static #forgetIdle(nowMs: number): void {
    let checked = 0;
    for (const oldest of this.#all) {
      if (checked === CHECKED_FOR_IDLENESS) return;
      checked += 1;
      this.#all.delete(oldest);
      if (nowMs - oldest.#usedMs < IDLE_MS) this.#all.add(oldest);
      else {
        if (this.#compiled.get(oldest.#namespace)?.has(oldest) === true) this.#remove(oldest);
        this.treePool.free(oldest.#namespace, treeBytes(oldest.#trees ?? []));
        oldest.#trees = undefined;
      }
    }
  }

  static #remove(kept: Preparation<unknown>): void {
    const own = this.#compiled.get(kept.#namespace);
    own?.delete(kept);
    if (own?.size === 0) this.#compiled.delete(kept.#namespace);
    if (kept.#trees === undefined) this.#all.delete(kept);
    this.pool.free(kept.#namespace, preparedBytes(kept.#prepared ?? NOTHING));
    kept.#forget();
  }

  /** A request that is being handled compiles again what it needs. */
  #forget(): void {
    for (const expression of this.#prepared?.expressions ?? []) expression.forget();
    this.#prepared = undefined;
    this.#isFinished = false;
  }
}

const preparedBytes = ({ expressions, responseBytes }: Prepared<unknown>): number =>
  responseBytes + EXPRESSION_BYTES * expressions.reduce((sum, { source }) => sum + source.length, 0);

const treeBytes = (trees: readonly (Uint8Array | undefined)[]): number =>
  trees.reduce((sum, tree) => sum + (tree?.length ?? 0), 0);
