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

/** Thrown by a loader: the page then says what is not there. */
export const notFound = (what: string, message = 'It may have been renamed or deleted.'): Response =>
  respond({ kind: 'NotFound', title: `There is no ${what}`, message }, 404);

/** Thrown by a loader of a page that shows nothing but what is in the log; `message`: why it does not answer. */
export const logAway = (message: string): Response =>
  respond({ kind: 'Unavailable', title: 'Log unavailable', message }, 503);

/** No 503: pages repeat those by themselves, and this fails again. */
export const tooHeavy = (message: string): Response =>
  respond({ kind: 'Invalid', title: 'This request cannot be processed', message }, 422);

const refusedWork = ({ reason, message }: WorkRefused): Response =>
  reason === 'Busy'
    ? respond({ kind: 'Unavailable', title: 'The dashboard is busy', message }, 503)
    : tooHeavy(message);

/** The value, or a page that says what is away and what else still works. Defects stay exceptions, which the log gets. */
export const orFail = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (isWorkRefused(error)) throw refusedWork(error);
    if (!(error instanceof SourceError)) throw error;
    throw respond({ kind: error.kind, title: TITLES[error.kind], message: error.message }, STATUS[error.kind]);
  }
};

/** What a refused write says, for the page that asked for it. Anything else is thrown on. */
export const refusalOf = (error: unknown): string => {
  if (isWorkRefused(error)) return error.message;
  if (error instanceof SourceError) return `${TITLES[error.kind]}: ${error.message}`;
  throw error;
};
