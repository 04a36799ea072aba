import { inspect } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';

export interface EventuallyOptions<T> {
  /** The condition that the value must meet. By default, the value must be truthy. */
  readonly accept?: (value: T) => boolean;
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

const TIMEOUT_MS = 10_000;
const INTERVAL_MS = 50;
const SHOWN_CHARS = 2_000;

/**
 * Calls the probe until its value is accepted, and returns the value. A probe that throws (a failed `expect`, a refused connection)
 * counts as not accepted. Throws an Error after `timeoutMs`, with the last value, or with the last exception as its cause. `what`
 * completes the message "waited … s for …".
 */
export const eventually = async <T>(
  what: string,
  probe: () => T | Promise<T>,
  { accept = Boolean, timeoutMs = TIMEOUT_MS, intervalMs = INTERVAL_MS }: EventuallyOptions<T> = {},
): Promise<T> => {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const outcome = await attempt(probe);
    if ('value' in outcome && accept(outcome.value)) return outcome.value;
    if (performance.now() >= deadline) {
      const seconds = `waited ${timeoutMs / 1000} s for ${what}`;
      if ('error' in outcome)
        throw new Error(`${seconds}; last error: ${String(outcome.error)}`, { cause: outcome.error });
      const last = typeof outcome.value === 'string' ? outcome.value : inspect(outcome.value, { depth: 6 });
      throw new Error(`${seconds}; last value: ${last.slice(0, SHOWN_CHARS)}`);
    }
    await delay(intervalMs);
  }
};

const attempt = async <T>(probe: () => T | Promise<T>): Promise<{ value: T } | { error: unknown }> => {
  try {
    return { value: await probe() };
  } catch (error) {
    return { error };
  }
};
