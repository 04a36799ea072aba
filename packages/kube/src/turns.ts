// client-node reports a whole list in one turn of the event loop.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** The time that a loop may take in one turn of the event loop, without its last step. */
const TURN_MS = 50;

/** Divides a long loop into several turns of the event loop, so that heartbeats and probes do not wait for its end. */
export class Turns {
  #endMs = performance.now() + TURN_MS;

  /** Call this between two steps. Waits for the next turn if the current one has taken long enough. */
  async pause(): Promise<void> {
    if (performance.now() < this.#endMs) return;
    await nextTurn();
    this.#endMs = performance.now() + TURN_MS;
  }
}
