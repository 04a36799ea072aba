import { SourceError, type SourceErrorKind } from '@standin/contract';
import { LogFilterError, LogStoreError } from '@standin/logstore';
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

/** ClickHouse's TIMEOUT_EXCEEDED. */
const TOO_SLOW = '159';

/** Maps a failure of the log or the resources to a problem. Undefined: a defect. */
export const toProblem = (error: unknown): ApiProblem | undefined => {
  if (error instanceof ApiProblem) return error;
  if (error instanceof SourceError) return new ApiProblem(OF_SOURCE[error.kind], error.message);
  if (isWorkRefused(error)) return new ApiProblem(error.reason === 'Busy' ? 'busy' : 'request_too_heavy');
  if (error instanceof LogFilterError) return new ApiProblem('parameter_invalid', error.message);
  if (error instanceof LogStoreError) {
    if (error.code === TOO_SLOW) return new ApiProblem('search_too_slow');
    // The message may quote captured data, and names hosts.
    return new ApiProblem('log_unavailable', `ClickHouse cannot be read now (${error.code}).`);
  }
  return undefined;
};
