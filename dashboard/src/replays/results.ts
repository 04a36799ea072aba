import type { LogRow } from '@standin/contract';
import type { ReplayAnswer } from '@standin/logstore';
import type { ProjectLog } from '../backend.ts';
import { capturedOf } from '../captured/captured-bytes.ts';
import type { Workers } from '../workers/workers.ts';
import type { ResultView } from '../captured/result-view.ts';

/** The result of one replayed request, and the captured request if it is still stored. */
export interface AnswerPair {
  readonly row: LogRow | undefined;
  readonly answer: ReplayAnswer;
}

/**
 * Returns the result of one replayed request, or undefined if it is not stored. Rejects with a `LogStoreError` if the log is
 * unavailable.
 */
export const readAnswers = async (
  log: Pick<ProjectLog, 'row' | 'replays'>,
  replayUid: string,
  requestId: string,
): Promise<AnswerPair | undefined> => {
  const [row, answer] = await Promise.all([log.row(requestId), log.replays.answer(replayUid, requestId)]);
  return answer && { row, answer };
};

/**
 * Compares the response to the replayed request with the captured one. Rejects with `WorkRefused` if that takes too much time or
 * memory.
 */
export const compareAnswers = (workers: Workers, pair: AnswerPair): Promise<ResultView> => {
  const { body, headers } = pair.answer.response;
  return workers.run('compareAnswers', pair, [...capturedOf(pair.row), body, ...headers.flat()]);
};
