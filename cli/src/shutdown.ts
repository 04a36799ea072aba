import process from 'node:process';

export interface Stop {
  /** Aborts at the first stop signal. */
  readonly signal: AbortSignal;
  /** Has the same effect as a signal. */
  request(): void;
  /** Restores the default effect of signals. Must be called when everything is closed. */
  done(): void;
}

/** A terminal and a wrapper may both forward the same Ctrl-C, so only a later signal counts as a second one. */
const SAME_SIGNAL_MS = 500;

/** Turns SIGINT, SIGTERM, SIGHUP, and the end of the parent process into an `AbortSignal`. A second signal exits immediately. */
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
  // The parent process ended before the listener was added.
  if (process.send !== undefined && !process.connected) controller.abort();
  return {
    signal: controller.signal,
    request: () => controller.abort(),
    done: () => {
      for (const event of events) process.off(event, onSignal);
      // The channel to cli/bin/run-main.js must not keep this process running.
      process.channel?.unref();
    },
  };
};
