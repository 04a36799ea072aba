import { SourceError, type SourceErrorKind } from '@standin/contract';
import { isWorkRefused, type WorkRefused } from '../../src/workers/work-refused.ts';
import type { Failure } from './failure.ts';

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
  Invalid: 'Not valid',
  Unauthorized: 'Signed out',
  Forbidden: 'Permission denied',
  Unavailable: 'Can’t reach the API server',
};

const respond = (failure: Failure, status: number): Response =>
  new Response(JSON.stringify(failure), { status, headers: { 'content-type': 'application/json' } });

/** Thrown by loaders. The page reports what does not exist. */
export const notFound = (what: string, message = 'It may have been renamed or deleted.'): Response =>
  respond({ kind: 'NotFound', title: `There is no ${what}`, message }, 404);

/** Thrown by loaders of pages that show only data from the log. `message`: why the log does not respond. */
export const logAway = (message: string): Response =>
  respond({ kind: 'Unavailable', title: 'Log unavailable', message }, 503);

/** Not a 503: pages retry those by themselves, and this fails again. */
export const tooHeavy = (message: string): Response =>
  respond({ kind: 'Invalid', title: 'This request cannot be processed', message }, 422);

const refusedWork = ({ reason, message }: WorkRefused): Response =>
  reason === 'Busy'
    ? respond({ kind: 'Unavailable', title: 'The dashboard is busy', message }, 503)
    : tooHeavy(message);

/** Returns the value, or throws a page that reports what is unavailable and what still works. Defects stay exceptions, which are logged. */
export const orFail = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (isWorkRefused(error)) throw refusedWork(error);
    if (!(error instanceof SourceError)) throw error;
    throw respond({ kind: error.kind, title: TITLES[error.kind], message: error.message }, STATUS[error.kind]);
  }
};

/** The message of a refused write, for the page that requested it. Any other error is thrown again. */
export const refusalOf = (error: unknown): string => {
  if (isWorkRefused(error)) return error.message;
  if (error instanceof SourceError) return `${TITLES[error.kind]}: ${error.message}`;
  throw error;
};
