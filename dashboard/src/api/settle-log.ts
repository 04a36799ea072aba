import { capitalize, SourceError } from '@standin/contract';
import type { ProjectLog } from '../backend.ts';
import { ApiProblem } from './problems.ts';

/** Resolves when the log has everything that was accepted before the call. Rejects with `log_unsettled` if that cannot be known. */
export const settleLog = (log: ProjectLog, signal: AbortSignal): Promise<void> => orUnsettled(log.settle(signal));

/** Rejects with `log_unsettled` if the work rejects like `ProjectLog.settle`. */
export const orUnsettled = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof SourceError && error.kind === 'Unavailable')) throw error;
    throw new ApiProblem('log_unsettled', `${capitalize(error.message)}.`);
  }
};
