import { SourceError, type SourceErrorKind } from '@standin/contract';
import { LogFilterError, LogStoreError } from '@standin/logstore';
import { isNotFound, type NotFound } from '../resources/not-found.ts';
import { isWorkRefused } from '../workers/work-refused.ts';
import { ApiProblem, type ApiProblemCode } from './problems.ts';

const OF_SOURCE: Readonly<Record<SourceErrorKind, ApiProblemCode>> = {
  NotFound: 'object_not_found',
  Conflict: 'conflict',
  Invalid: 'object_invalid',
  Unauthorized: 'unauthorized',
  Forbidden: 'forbidden',
  Unavailable: 'resources_unavailable',
};

const OF_MISSING: Readonly<Record<NotFound['what'], ApiProblemCode>> = {
  account: 'account_not_found',
  endpoint: 'object_not_found',
  expectation: 'expectation_not_found',
  key: 'key_not_found',
  project: 'project_not_found',
  purge: 'purge_not_found',
  regeneration: 'regeneration_not_found',
  replay: 'replay_not_found',
  request: 'request_not_found',
  share: 'share_not_found',
};

/** Returns the problem for an error, or undefined if the error is unexpected. */
export const toProblem = (error: unknown): ApiProblem | undefined => {
  if (error instanceof ApiProblem) return error;
  if (isNotFound(error)) return new ApiProblem(OF_MISSING[error.what], error.detail);
  if (error instanceof SourceError) return new ApiProblem(OF_SOURCE[error.kind], error.message);
  if (isWorkRefused(error)) return new ApiProblem(error.reason === 'Busy' ? 'busy' : 'request_too_heavy');
  if (error instanceof LogFilterError) return new ApiProblem('parameter_invalid', error.message);
  if (error instanceof LogStoreError) {
    if (error.isTooSlow) return new ApiProblem('search_too_slow');
    // Omits the error's message, because it contains host names and may quote captured data.
    return new ApiProblem('log_unavailable', `Cannot read from ClickHouse (${error.code}). Try again later.`);
  }
  return undefined;
};
