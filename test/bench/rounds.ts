import { OTHER_CORE, SERVER_CORE, type Contender } from './contenders.ts';
import type { LoadResult } from './load.ts';
import { coreBusySeconds, cpuSeconds, median } from './machine.ts';
import { runLoad } from './run-load.ts';

/** The resource that was always busy and therefore limited the requests/s. */
export type Limit = 'its core' | 'others on it' | 'generator' | 'neither';

export interface Round extends LoadResult {
  readonly perSecond: number;
  readonly cpuMicrosPerRequest: number;
  /** The fraction of the time in which the core ran the server. */
  readonly ran: number;
  /** The fraction of the time in which the core ran anything else, such as interrupts or processes that should not run there. */
  readonly others: number;
}

export interface RoundOptions {
  readonly seconds: number;
  /** In the open model, the offered requests/s. Unset for a closed loop at the maximum rate of the server. */
  readonly perSecond?: number;
  /** Requests that the server refuses, in turn. One of them follows each of the contender's requests. */
  readonly refused?: readonly string[];
}

/**
 * A resource with at least this measured fraction counts as always busy. The limit is below 1, because CPU times are counted in
 * hundredths of a second.
 */
const BUSY_MIN = 0.95;
/** If other processes use a larger fraction of the server's core, the results are not meaningful. */
export const OTHERS_MAX = 0.1;
export const CONNECTIONS = 64;

const readClocks = async (pid: number) => ({
  nowS: performance.now() / 1_000,
  ranS: await cpuSeconds(pid),
  busyS: await coreBusySeconds(SERVER_CORE),
});

export const runRound = async (contender: Contender, { refused, ...options }: RoundOptions): Promise<Round> => {
  const { pid, port, request } = contender;
  await contender.settle();
  const before = await readClocks(pid);
  const load = {
    port,
    requests: refused === undefined ? [request] : refused.flatMap((one) => [request, one]),
    connections: CONNECTIONS,
    ...options,
  };
  const result = await runLoad(load, { core: OTHER_CORE });
  const after = await readClocks(pid);
  const [ranS, busyS] = [after.ranS - before.ranS, after.busyS - before.busyS];
  if (result.refused > 0 && refused === undefined)
    console.log(`${contender.name}: ${result.refused} responses were not 200`);
  return {
    ...result,
    perSecond: result.requests / result.seconds,
    cpuMicrosPerRequest: (ranS / result.requests) * 1e6,
    ran: ranS / result.seconds,
    // The difference includes the start and the end of the generator, when other processes may have run.
    others: Math.max(0, busyS - ranS) / (after.nowS - before.nowS),
  };
};

/** Returns the median of each figure over several rounds. */
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

/** Returns the limit in a closed loop. `neither` means that the server waited for another resource, such as its disk. */
export const roundLimit = ({ ran, others, generatorBusy }: Round): Limit => {
  if (ran + others >= BUSY_MIN) return others > OTHERS_MAX ? 'others on it' : 'its core';
  return generatorBusy >= BUSY_MIN ? 'generator' : 'neither';
};
