import type { ReplayState } from '@standin/contract';

/** The desired state of a run. Users can pause or cancel it, and its object can be deleted. */
export class RunControl {
  #state: ReplayState;
  readonly #remainingMs: () => number;
  readonly #stopping = new AbortController();
  readonly #cancelling = new AbortController();
  #changed = Promise.withResolvers<undefined>();
  #projectSeen = Promise.withResolvers<undefined>();

  constructor(state: ReplayState, remainingMs: () => number) {
    this.#state = state;
    this.#remainingMs = remainingMs;
    if (state === 'Cancelled') this.#cancelling.abort();
  }

  get state(): ReplayState {
    return this.#state;
  }

  /** Aborts when the run must end without a status, because its object was deleted or this operator no longer leads. */
  get stopped(): AbortSignal {
    // A frozen operator continues before the signal of its term aborts.
    if (this.#remainingMs() <= 0 && !this.#stopping.signal.aborted) this.stop();
    return this.#stopping.signal;
  }

  /** Aborts when the run is cancelled or stopped, so that no more requests may be sent. */
  get ending(): AbortSignal {
    return AbortSignal.any([this.#stopping.signal, this.#cancelling.signal]);
  }

  get maySend(): boolean {
    return this.#state === 'Running' && !this.stopped.aborted;
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

  /** Records that the Replay's project was reported. The project may now exist or be valid. */
  seeProject(): void {
    const { resolve } = this.#projectSeen;
    this.#projectSeen = Promise.withResolvers();
    resolve(undefined);
  }

  /** Resolves when the project is reported. */
  projectSeen(): Promise<unknown> {
    return this.#projectSeen.promise;
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve(undefined);
  }
}
