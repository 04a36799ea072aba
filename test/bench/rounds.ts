import { OTHER_CORE, SERVER_CORE, type Contender } from './contenders.ts';
import type { LoadResult } from './load.ts';
import { coreBusySeconds, cpuSeconds, median } from './machine.ts';
import { runLoad } from './run-load.ts';

/** What was busy all the time: more requests/s than this it could not have done. */
export type Limit = 'its core' | 'others on it' | 'generator' | 'neither';

export interface Round extends LoadResult {
  readonly perSecond: number;
  readonly cpuMicrosPerRequest: number;
  /** Parts of the time that its core ran the server, and anything else: interrupts, or somebody who should not be there. */
  readonly ran: number;
  readonly others: number;
}

export interface RoundOptions {
  readonly seconds: number;
  /** Open model: requests/s offered. Unset: closed loop, as many as the server takes. */
  readonly perSecond?: number;
}

/** One that does nothing else is seen as this busy at least, by clocks that tick a hundred times a second. */
const BUSY_MIN = 0.95;
/** Figures of rounds in which anybody else had more of the server's core say little. */
export const OTHERS_MAX = 0.1;
export const CONNECTIONS = 64;

const clocksOf = async (pid: number) => ({
  nowS: performance.now() / 1_000,
  ranS: await cpuSeconds(pid),
  busyS: await coreBusySeconds(SERVER_CORE),
});

export const roundOf = async (contender: Contender, options: RoundOptions): Promise<Round> => {
  const { pid, port, request } = contender;
  await contender.settle();
  const before = await clocksOf(pid);
  const load = { port, requests: [request], connections: CONNECTIONS, ...options };
  const result = await runLoad(load, { core: OTHER_CORE });
  const after = await clocksOf(pid);
  const [ranS, busyS] = [after.ranS - before.ranS, after.busyS - before.busyS];
  if (result.refused > 0) console.log(`${contender.name}: ${result.refused} answers were not 200`);
  return {
    ...result,
    perSecond: result.requests / result.seconds,
    cpuMicrosPerRequest: (ranS / result.requests) * 1e6,
    ran: ranS / result.seconds,
    // Beside the load itself its generator was started and ended, in which time others may have run, too.
    others: Math.max(0, busyS - ranS) / (after.nowS - before.nowS),
  };
};

/** Of several rounds, the median of each figure. */
export const medianRound = (rounds: readonly Round[]): Round => {
  const of = (value: (round: Round) => number): number => median(rounds.map(value));
  return {
    requests: of(({ requests }) => requests),
    seconds: of(({ seconds }) => seconds),
    refused: of(({ refused }) => refused),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    p999Ms: of(({ p999Ms }) => p999Ms),
    generatorBusy: of(({ generatorBusy }) => generatorBusy),
    lateP99Ms: of(({ lateP99Ms }) => lateP99Ms),
    perSecond: of(({ perSecond }) => perSecond),
    cpuMicrosPerRequest: of(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest),
    ran: of(({ ran }) => ran),
    others: of(({ others }) => others),
  };
};

/** Of a closed loop. Neither: the server waited for something else, its disk for one. */
export const limitOf = ({ ran, others, generatorBusy }: Round): Limit => {
  if (ran + others >= BUSY_MIN) return others > OTHERS_MAX ? 'others on it' : 'its core';
  return generatorBusy >= BUSY_MIN ? 'generator' : 'neither';
};
