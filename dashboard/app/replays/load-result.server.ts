import type { LogRow } from '@standin/contract';
import type { ReplayAnswer } from '@standin/logstore';
import type { ProjectLog } from '../../src/backend.ts';
import { capturedOf } from '../../src/workers/captured-of.ts';
import { isWorkRefused } from '../../src/workers/work-refused.ts';
import type { Workers } from '../../src/workers/workers.ts';
import type { Away } from '../requests/read-traffic.server.ts';
import type { ResultView } from './result-view.server.ts';

/** The result of one replayed request, and the captured request if it is still stored. */
export interface AnswerPair {
  readonly row: LogRow | undefined;
  readonly answer: ReplayAnswer;
}

/** Undefined: there is no result (yet). Rejects with a `LogStoreError`. */
export const readAnswers = async (
  log: Pick<ProjectLog, 'row' | 'replays'>,
  replayUid: string,
  requestId: string,
): Promise<AnswerPair | undefined> => {
  const [row, answer] = await Promise.all([log.row(requestId), log.replays.answer(replayUid, requestId)]);
  return answer && { row, answer };
};

/** Compares both responses, or returns the reason why that takes too much. */
export const compareAnswers = async (workers: Workers, pair: AnswerPair): Promise<ResultView | Away> => {
  const { body, headers } = pair.answer.response;
  try {
    return await workers.run('compareAnswers', pair, [...capturedOf(pair.row), body, ...headers.flat()]);
  } catch (error) {
    if (isWorkRefused(error)) return { away: error.message };
    throw error;
  }
};
