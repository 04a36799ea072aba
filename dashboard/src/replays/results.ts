import type { LogRow } from '@standin/contract';
import type { ReplayedExchange } from '@standin/logstore';
import type { ProjectLog } from '../backend.ts';
import { capturedParts } from '../captured/captured-bytes.ts';
import type { Workers } from '../workers/workers.ts';
import type { ResultView } from '../captured/result-view.ts';

/** The result of one replayed request, and the captured request if it is still stored. */
export interface ResponsePair {
  readonly row: LogRow | undefined;
  readonly answer: ReplayedExchange;
}

/**
 * Returns the result of one replayed request, or undefined if it is not stored. Rejects with a `LogStoreError` if the log is
 * unavailable.
 */
export const readResponses = async (
  log: Pick<ProjectLog, 'row' | 'replays'>,
  replayUid: string,
  requestId: string,
): Promise<ResponsePair | undefined> => {
  const [row, answer] = await Promise.all([log.row(requestId), log.replays.exchange(replayUid, requestId)]);
  return answer && { row, answer };
};

/**
 * Compares the response to the replayed request with the captured one. Rejects with `WorkRefused` if that takes too much time or
 * memory.
 */
export const compareResponses = (workers: Workers, pair: ResponsePair): Promise<ResultView> => {
  const { body, headers } = pair.answer.response;
  return workers.run('compareResponses', pair, [...capturedParts(pair.row), body, ...headers.flat()]);
};
