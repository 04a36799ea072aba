import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue } from '@standin/contract';
import type { Pools } from './pools.ts';
import { WorkRefused } from './workers/work-refused.ts';

/** Maximum number of requests that wait for their turn. Each then takes at least a millisecond of the process. */
const WAITING_MAX = 1_000;

/**
 * Waits until a request may begin. Rejects with `WorkRefused` if too many requests of its holder (`holders.ts`) wait, or with the signal's
 * reason.
 */
export type RequestTurns = (holder: string, signal: AbortSignal) => Promise<void>;

/**
 * Begins one request per turn of the event loop. Users and addresses take turns, so that many requests of one do not delay the
 * others. Requests need no session.
 */
export const requestTurns = (pools?: Pools): RequestTurns => {
  const queue = new FairQueue({ runningMax: 1, callsMax: WAITING_MAX, refusal: () => new WorkRefused('Busy') });
  pools?.set('request_turns', queue.calls);
  return (holder, signal) => queue.run(holder, () => nextTurn(), signal);
};
