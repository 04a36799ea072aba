import type { ConfigKey } from '@standin/contract';
import { stateOf, type Process, type ProgrammedState } from './gateway-record.ts';

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
  const state = stateOf(processes, key, since);
  if (lost.size === 0 || state.kind === 'rejected') return state;
  const waiting = state.kind === 'waiting' ? state.gateways : [];
  const gateways = [...new Set([...waiting, ...lost])].sort();
  return { kind: 'waiting', gateways, known: processes.length + lost.size, unheard: false };
};

/** Objects whose previous state must not be used by any gateway, such as an Account after its API key was replaced. */
export class Revocations {
  /** The numbers of the revisions that replaced the previous states, by object. */
  readonly #since = new Map<ConfigKey, number>();

  has(key: ConfigKey): boolean {
    return this.#since.has(key);
  }

  /** Returns the number of the revision that replaced the object's previous state, or undefined if the revocation is complete. */
  since(key: ConfigKey): number | undefined {
    return this.#since.get(key);
  }

  add(key: ConfigKey, since: number): void {
    this.#since.set(key, since);
  }

  cancel(key: ConfigKey): void {
    this.#since.delete(key);
  }

  /** Removes and returns the objects whose previous state is no longer used by any gateway. */
  takeComplete(answering: AnsweringGateways): readonly ConfigKey[] {
    const complete = [...this.#since].flatMap(([key, since]) => {
      const { kind } = revokedState(answering, key, since);
      return kind === 'programmed' || kind === 'no-gateway' ? [key] : [];
    });
    for (const key of complete) this.#since.delete(key);
    return complete;
  }
}
