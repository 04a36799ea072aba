import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS, type ConfigKey, type ResourceObject } from '@standin/contract';
import type { Logger } from 'pino';
import type { Controller } from './controller.ts';
import type { Changes } from './translate/index.ts';

/** The longest time that a stop may take: the time left on the lease when its renewal deadline has passed. */
const STOP_MS_MAX = LIMITS.leaseDurationMs - LIMITS.leaseRenewDeadlineMs;

/** Runs controllers for one leader's term, in the order of their list. */
export class ControllerManager {
  readonly #controllers: readonly Controller[];
  readonly #logger: Logger;
  /** Until this is true, `changed` and `translated` do nothing, because each controller starts with the complete state. */
  #isStarted = false;

  constructor(controllers: readonly Controller[], logger: Logger) {
    this.#controllers = controllers;
    this.#logger = logger;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Prepares and starts the controllers. Rejects if one fails to prepare. Starts nothing if `signal` aborts first. */
  async start(signal: AbortSignal): Promise<void> {
    for (const controller of this.#controllers) await controller.prepare?.(signal);
    if (signal.aborted) return;
    // The following code runs synchronously, so no change is lost between the first revision and the first call to `translated`.
    this.#isStarted = true;
    for (const controller of this.#controllers) controller.start?.();
  }

  changed(object: ResourceObject, before?: ResourceObject): void {
    if (this.#isStarted) for (const controller of this.#controllers) controller.changed?.(object, before);
  }

  removed(object: ResourceObject): void {
    for (const controller of this.#controllers) controller.removed?.(object);
  }

  translated(changes: Changes): void {
    if (this.#isStarted) for (const controller of this.#controllers) controller.translated?.(changes);
  }

  gatewaysChanged(keys: readonly ConfigKey[]): void {
    for (const controller of this.#controllers) controller.gatewaysChanged?.(keys);
  }

  /**
   * Stops the controllers. Resolves when all of them have stopped, or after `STOP_MS_MAX`, because a hanging call must not prevent
   * this operator from leading again. Such a call does no harm later: writes of statuses, ledgers and key Secrets are
   * conditional on the version that was read.
   */
  async stop(): Promise<void> {
    this.#isStarted = false;
    const running = new Set<string>();
    const stopped = this.#controllers.map(async (controller) => {
      running.add(controller.name);
      await controller.stop?.();
      running.delete(controller.name);
    });
    await Promise.race([Promise.all(stopped), delay(STOP_MS_MAX, undefined, { ref: false })]);
    if (running.size > 0) this.#logger.warn({ controllers: [...running] }, 'controllers did not stop in time');
  }
}
