import { capitalize, SourceError } from '@standin/contract';
import type { ProjectLog } from '../backend.ts';
import { ApiProblem } from './problems.ts';

/** Resolves when the log has everything that was accepted before the call. Rejects with `log_unsettled` if that cannot be known. */
export const settleLog = async (log: ProjectLog, signal: AbortSignal): Promise<void> => {
  try {
    await log.settle(signal);
  } catch (error) {
    if (!(error instanceof SourceError && error.kind === 'Unavailable')) throw error;
    throw new ApiProblem('log_unsettled', `${capitalize(error.message)}.`);
  }
};
