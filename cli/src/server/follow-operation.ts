import { setTimeout as delay } from 'node:timers/promises';
import { asPlainError, PlainError } from '../plain-error.ts';
import { stderr } from '../terminal.ts';
import { ServerError } from './api-client.ts';
import { outageNotice } from './outage-notice.ts';

/** Exit code of a command that stops waiting. The operation that it started, such as a Purge, continues or may have been created. */
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
 * Creates the object of an operation, whose name no other object has. `create` may be called again if its response is lost. Rejects
 * with a `PlainError` with the exit code `EXIT_TIMEOUT` if it is unknown at the deadline whether the object exists.
 */
export const createOperation = async (
  deadline: number,
  title: string,
  create: () => Promise<unknown>,
): Promise<void> => {
  try {
    await persistently(deadline, create);
  } catch (error) {
    // A conflict means that an earlier attempt has created the object, but its response was lost.
    if (error instanceof ServerError && error.status === 409) return;
    if (!isOutage(error)) throw error;
    throw new PlainError(`${title} may have been created: ${error.message}`, { cause: error, exitCode: EXIT_TIMEOUT });
  }
};

/**
 * Returns a function that reads the status of a new object, until the deadline after transient failures. The status is empty while
 * the object is not visible yet. Rejects with a `PlainError` if the object was deleted, or if it continues but cannot be read.
 */
export const statusReader = <Status>(
  deadline: number,
  { title, read }: Pick<Followed<Status>, 'title' | 'read'>,
): (() => Promise<Partial<Status>>) => {
  let missingUntil = performance.now() + VISIBLE_MS_MAX;
  return async () => {
    const status = await persistently(deadline, read).catch((error: unknown) => {
      const plain = asPlainError(error);
      if (plain === undefined) throw error;
      const message = `${title} continues, but the command cannot follow it: ${plain.message}`;
      throw new PlainError(message, { cause: error, exitCode: EXIT_TIMEOUT });
    });
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
  const read = statusReader(deadline, object);
  for (let said = ''; ;) {
    const status = await read();
    if (hasEnded(status) || performance.now() >= deadline) return status;
    const progress = format(status);
    if (progress !== said) stderr.line(progress);
    said = progress;
    await delay(POLL_MS);
  }
};

const isOutage = (error: unknown): error is ServerError => error instanceof ServerError && error.isPassing;

/** Retries after transient failures, such as a dashboard restart, until the deadline. */
export const persistently = async <T>(deadline: number, work: () => Promise<T>): Promise<T> => {
  const notice = outageNotice();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isOutage(error) || performance.now() >= deadline) throw error;
      notice(error);
      await delay(POLL_MS);
    }
  }
};
