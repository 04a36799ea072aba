import { SourceError, type SourceErrorKind } from '@standin/contract';
import type { ApplyResult } from '../backend.ts';
import { isNotFound, sentenceCase, type NotFound } from '../resources/not-found.ts';
import { problemText } from '../resources/problem-text.ts';
import { isWorkRefused, type WorkRefused } from '../workers/work-refused.ts';

/** The data of an error page. */
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
  Conflict: 'Changed by someone else',
  Invalid: 'Invalid',
  Unauthorized: 'Signed out',
  Forbidden: 'Permission denied',
  Unavailable: 'Can’t reach the API server',
};

const respond = (failure: Failure, status: number): Response =>
  new Response(JSON.stringify(failure), { status, headers: { 'content-type': 'application/json' } });

/** Thrown by loaders. The page reports what does not exist. */
export const notFound = (what: string, message = 'It may have been renamed or deleted.'): Response =>
  respond({ kind: 'NotFound', title: `${sentenceCase(what)} not found`, message }, 404);

/** Where an object was not deleted by a user. */
const REASONS: Readonly<Partial<Record<NotFound['what'], string>>> = {
  replay: 'Replays are removed a day after they end.',
  request: 'The request has expired, or it belongs to another project.',
};

/** Thrown by loaders of pages that show only data from the log. `message`: why the log does not respond. */
export const logUnavailable = (message: string): Response =>
  respond({ kind: 'Unavailable', title: 'Log unavailable', message }, 503);

const refusedWork = ({ reason, message }: WorkRefused): Response =>
  reason === 'Busy'
    ? respond({ kind: 'Unavailable', title: 'The dashboard is busy', message }, 503)
    : // Not a 503: pages retry those by themselves, and this fails again.
      respond({ kind: 'Invalid', title: 'This request cannot be processed', message }, 422);

/** The page that reports what is unavailable and what still works. Undefined: a defect, which is logged. */
export const toFailure = (error: unknown): Response | undefined => {
  if (isNotFound(error)) return notFound(error.shown, REASONS[error.what]);
  if (isWorkRefused(error)) return refusedWork(error);
  if (!(error instanceof SourceError)) return undefined;
  return respond({ kind: error.kind, title: TITLES[error.kind], message: error.message }, STATUS[error.kind]);
};

/** The message of a refused write, for the page that requested it. Any other error is thrown again. */
export const refusalOf = (error: unknown): string => {
  if (isWorkRefused(error)) return error.message;
  if (error instanceof SourceError) return `${TITLES[error.kind]}: ${error.message}`;
  throw error;
};

/** Why a write was refused. Undefined: it was done. */
export const refusalOfWrite = (write: Promise<ApplyResult>): Promise<string | undefined> =>
  write.then((result) => (result.ok ? undefined : problemText(result.problems)), refusalOf);
