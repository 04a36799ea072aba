import { capitalize, SourceError, type SourceErrorKind } from '@standin/contract';
import type { ApplyResult } from '../backend.ts';
import { isNotFound, type NotFound } from '../resources/not-found.ts';
import { problemText } from '../resources/problem-text.ts';
import { isWorkRefused, type WorkRefused } from '../workers/work-refused.ts';

/** The data for an error page. */
export interface Failure {
  readonly kind: string;
  readonly title: string;
  readonly message: string;
}

const STATUS: Readonly<Record<SourceErrorKind, number>> = {
  NotFound: 404,
  Conflict: 409,
  Invalid: 422,
  Unauthorized: 401,
  Forbidden: 403,
  Unavailable: 503,
};

const TITLES: Readonly<Record<SourceErrorKind, string>> = {
  NotFound: 'Not found',
  Conflict: 'Conflict',
  Invalid: 'Invalid',
  Unauthorized: 'Signed out',
  Forbidden: 'Permission denied',
  Unavailable: 'Temporarily unavailable',
};

const respond = (failure: Failure, status: number): Response =>
  new Response(JSON.stringify(failure), { status, headers: { 'content-type': 'application/json' } });

/** Returns an error page that reports what does not exist. Loaders throw it. */
export const notFound = (what: string, message = 'It may have been renamed or deleted.'): Response =>
  respond({ kind: 'NotFound', title: `${capitalize(what)} not found`, message }, 404);

/** Messages for what is usually removed automatically and not by users. */
const REASONS: Readonly<Partial<Record<NotFound['what'], string>>> = {
  expectation: 'Expectations are deleted a day after they end.',
  replay: 'By default, replays are deleted a day after they end.',
  request: 'The request may have expired or been purged, or may belong to another project.',
};

/**
 * Returns an error page for pages that show only data from the log. `message` explains why the log is not responding. Loaders throw
 * it.
 */
export const logUnavailable = (message: string): Response =>
  respond({ kind: 'Unavailable', title: 'Log unavailable', message }, 503);

const refusedWork = ({ reason, message }: WorkRefused): Response =>
  reason === 'Busy'
    ? respond({ kind: 'Unavailable', title: 'The dashboard is busy', message }, 503)
    : // Not a 503, because pages retry a request automatically after a 503, and this request would fail again.
      respond({ kind: 'Invalid', title: 'This request cannot be processed', message }, 422);

/** Converts an error to an error page. Returns undefined for an unexpected error. */
export const toFailure = (error: unknown): Response | undefined => {
  if (isNotFound(error)) return notFound(error.shown, REASONS[error.what]);
  if (isWorkRefused(error)) return refusedWork(error);
  if (!(error instanceof SourceError)) return undefined;
  return respond({ kind: error.kind, title: TITLES[error.kind], message: error.message }, STATUS[error.kind]);
};

/** Returns the message of a rejected write, for the page that requested it. Rethrows any other error. */
export const refusalMessage = (error: unknown): string => {
  if (isWorkRefused(error)) return error.message;
  if (error instanceof SourceError) return `${TITLES[error.kind]}: ${error.message}`;
  throw error;
};

/** Resolves to the reason why a write was rejected, or to undefined if it succeeded. */
export const writeRefusal = (write: Promise<ApplyResult>): Promise<string | undefined> =>
  write.then((result) => (result.ok ? undefined : problemText(result.problems)), refusalMessage);
