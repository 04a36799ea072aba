import { setTimeout as delay } from 'node:timers/promises';
import { PlainError } from '../plain-error.ts';
import { stderr } from '../terminal.ts';
import { ServerError } from './api-client.ts';

/** Exit code of a command that stops waiting. The act that it started, such as a Purge, continues. */
export const EXIT_TIMEOUT = 5;

const POLL_MS = 100;

interface Followed<Status> {
  readonly read: () => Promise<Status>;
  readonly hasEnded: (status: Status) => boolean;
  readonly format: (status: Status) => string;
}

/** Prints each change in progress until the act ends or until `deadline`, a `performance.now()` time. Resolves with the status. */
export const followAct = async <Status>(
  deadline: number,
  { read, hasEnded, format }: Followed<Status>,
): Promise<Status> => {
  for (let said = ''; ;) {
    const status = await persistently(deadline, read);
    if (hasEnded(status) || performance.now() >= deadline) return status;
    const progress = format(status);
    if (progress !== said) stderr.line(progress);
    said = progress;
    await delay(POLL_MS);
  }
};

/** Retries after transient failures, such as a dashboard restart, until the deadline. */
export const persistently = async <T>(deadline: number, work: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ServerError && error.isPassing)) throw error;
      if (performance.now() < deadline) await delay(POLL_MS);
      else throw new PlainError(error.message, { cause: error, exitCode: EXIT_TIMEOUT });
    }
  }
};
