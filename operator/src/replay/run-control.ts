import type { ReplayState } from '@standin/contract';

/** What is wanted of a run by now: a person may pause or cancel it, and its object may go away. */
export class RunControl {
  #state: ReplayState;
  readonly #stopping = new AbortController();
  readonly #cancelling = new AbortController();
  #changed = Promise.withResolvers<undefined>();

  constructor(state: ReplayState) {
    this.#state = state;
    if (state === 'Cancelled') this.#cancelling.abort();
  }

  get state(): ReplayState {
    return this.#state;
  }

  /** Aborts when the run is to end without a word: its object is gone, or this operator does not lead any more. */
  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Aborts when nothing more is to be sent; also when it is stopped. */
  get ending(): AbortSignal {
    return AbortSignal.any([this.#stopping.signal, this.#cancelling.signal]);
  }

  set(state: ReplayState): void {
    if (state === this.#state) return;
    this.#state = state;
    if (state === 'Cancelled') this.#cancelling.abort();
    this.#wake();
  }

  stop(): void {
    this.#stopping.abort(new DOMException('the replay is stopped', 'AbortError'));
    this.#wake();
  }

  /** Resolves when the state changes, or the run is stopped. */
  change(): Promise<unknown> {
    return this.#changed.promise;
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve(undefined);
  }
}
