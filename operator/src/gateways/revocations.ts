import type { ConfigKey } from '@standin/contract';
import { ackedNumber, programmedState, type Process, type ProgrammedState } from './gateway-record.ts';

/** The gateways that may answer callers. */
export interface AnsweringGateways {
  readonly processes: readonly Process[];
  /** The names of lost gateways, which may still answer with their last configuration. */
  readonly lost: ReadonlySet<string>;
}

/**
 * Returns the state of an object whose state from before revision `since` must not be used. Lost gateways count as waiting. Gateways
 * that are gone do not count, because they no longer answer.
 */
export const revokedState = (
  { processes, lost }: AnsweringGateways,
  key: ConfigKey,
  since: number,
): ProgrammedState => {
  const state = programmedState(processes, key, since);
  if (lost.size === 0 || state.kind === 'rejected') return state;
  const waiting = state.kind === 'waiting' ? state.gateways : [];
  const gateways = [...new Set([...waiting, ...lost])].sort();
  return { kind: 'waiting', gateways, known: processes.length + lost.size, unheard: false };
};

/**
 * Objects whose previous state must not be used by any gateway, such as an Account after its API key was replaced. There can be as many
 * as there are objects, for example while a gateway is lost, so no acknowledgement visits all of them.
 */
export class Revocations {
  /** The numbers of the revisions that replaced the previous states, by object. */
  readonly #since = new Map<ConfigKey, number>();
  /** The objects by this number. Omits objects that a gateway still rejected when all gateways had the revision. */
  readonly #waiting = new Map<number, Set<ConfigKey>>();
  /** The numbers in `#waiting`, in ascending order. */
  readonly #numbers: number[] = [];

  has(key: ConfigKey): boolean {
    return this.#since.has(key);
  }

  /** Returns the number of the revision that replaced the object's previous state, or undefined if the revocation is complete. */
  since(key: ConfigKey): number | undefined {
    return this.#since.get(key);
  }

  add(key: ConfigKey, since: number): void {
    this.cancel(key);
    this.#since.set(key, since);
    this.#wait(key, since);
  }

  cancel(key: ConfigKey): void {
    const since = this.#since.get(key);
    if (since === undefined) return;
    this.#since.delete(key);
    const keys = this.#waiting.get(since);
    if (keys?.delete(key) !== true || keys.size > 0) return;
    this.#waiting.delete(since);
    this.#numbers.splice(this.#countBelow(since), 1);
  }

  /**
   * Removes and returns the objects whose previous state is no longer used by any gateway.
   *
   * @param changed objects that gateways newly reject, no longer reject or reject for another reason
   */
  takeComplete(answering: AnsweringGateways, changed: readonly ConfigKey[]): readonly ConfigKey[] {
    const { processes, lost } = answering;
    const candidates = new Set(changed);
    const heldByAll = lost.size > 0 ? -Infinity : Math.min(...processes.map(ackedNumber));
    const numbers = this.#numbers.splice(0, this.#countBelow(heldByAll + 1));
    for (const number of numbers) {
      for (const key of this.#waiting.get(number) ?? []) candidates.add(key);
      this.#waiting.delete(number);
    }
    return [...candidates].filter((key) => this.#isComplete(key, answering));
  }

  #isComplete(key: ConfigKey, answering: AnsweringGateways): boolean {
    const since = this.#since.get(key);
    if (since === undefined) return false;
    const { kind } = revokedState(answering, key, since);
    const isComplete = kind === 'programmed' || kind === 'no-gateway';
    if (isComplete) this.cancel(key);
    else if (kind === 'waiting') this.#wait(key, since);
    return isComplete;
  }

  #wait(key: ConfigKey, since: number): void {
    const keys = this.#waiting.get(since);
    if (keys !== undefined) {
      keys.add(key);
      return;
    }
    this.#waiting.set(since, new Set([key]));
    this.#numbers.splice(this.#countBelow(since), 0, since);
  }

  /** Returns how many of the numbers are lower. */
  #countBelow(number: number): number {
    let [low, high] = [0, this.#numbers.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#numbers[middle] ?? Infinity) < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
