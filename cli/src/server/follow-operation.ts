import { setTimeout as delay } from 'node:timers/promises';
import { PlainError } from '../plain-error.ts';
import { stderr } from '../terminal.ts';
import { ServerError } from './api-client.ts';

/** Exit code of a command that stops waiting. The operation that it started, such as a Purge, continues. */
export const EXIT_TIMEOUT = 5;

const POLL_MS = 100;

/** How long an object may be missing after its creation. */
const VISIBLE_MS_MAX = 10_000;

interface Followed<Status> {
  /** The kind and name of the object. */
  readonly title: string;
  /** Resolves with undefined if the object does not exist. */
  readonly read: () => Promise<Status | undefined>;
  readonly hasEnded: (status: Partial<Status>) => boolean;
  readonly format: (status: Partial<Status>) => string;
}

/**
 * Returns a function that reads the status of a new object. The status is empty while the object is not visible yet. Rejects with a
 * `PlainError` if the object was deleted.
 */
export const statusOfNew = <Status>({
  title,
  read,
}: Pick<Followed<Status>, 'title' | 'read'>): (() => Promise<Partial<Status>>) => {
  let missingUntil = performance.now() + VISIBLE_MS_MAX;
  return async () => {
    const status = await read();
    if (status !== undefined) missingUntil = 0;
    else if (performance.now() >= missingUntil) throw new PlainError(`${title} was deleted before it ended`);
    return status ?? {};
  };
};

/**
 * Prints each change in progress until the operation ends or until `deadline`, a `performance.now()` time. Resolves with the status.
 * Rejects with a `PlainError` if the object was deleted.
 */
export const followOperation = async <Status>(
  deadline: number,
  { hasEnded, format, ...object }: Followed<Status>,
): Promise<Partial<Status>> => {
  const read = statusOfNew(object);
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
