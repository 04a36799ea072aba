import process from 'node:process';

export interface Stop {
  /** Aborts at the first stop signal. */
  readonly signal: AbortSignal;
  /** As if a signal had come. */
  request(): void;
  /** Everything is closed: signals have their ordinary effect again. */
  done(): void;
}

/** A terminal and a wrapper may both pass on the same Ctrl-C; only a later signal is a second one. */
const SAME_SIGNAL_MS = 500;

/** Turns SIGINT, SIGTERM, SIGHUP, and the end of the process that started this one, into an `AbortSignal`. A second signal exits at once. */
export const awaitStop = (): Stop => {
  const controller = new AbortController();
  let firstAt = 0;
  const onSignal = (): void => {
    if (!controller.signal.aborted) {
      firstAt = performance.now();
      controller.abort();
    } else if (performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(130);
  };
  const events = ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const;
  for (const event of events) process.on(event, onSignal);
  // The process that started this one ended before we listened.
  if (process.send !== undefined && !process.connected) controller.abort();
  return {
    signal: controller.signal,
    request: () => controller.abort(),
    done: () => {
      for (const event of events) process.off(event, onSignal);
      // The channel to cli/bin/run-main.js must not keep this process alive.
      process.channel?.unref();
    },
  };
};
