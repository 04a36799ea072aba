import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../harness/eventually.ts';
import {
  ANSWER_BODY_BYTES,
  BARE,
  MOCKOON,
  OTHER_CORE,
  REQUEST_BODY_BYTES,
  SERVER_CORE,
  standinName,
  startContenders,
  WIREMOCK,
  type Contender,
  type Contenders,
} from './contenders.ts';
import { pinToCore, printMeasurements, printTable, unpin, type Measurement } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { CONNECTIONS, roundLimit, medianRound, OTHERS_MAX, runRound, type Round, type RoundOptions } from './rounds.ts';
import { TARGETS } from './targets.ts';

const ROUNDS = 3;
/**
 * The number of rounds whose results are discarded, because just-in-time compilers need time. On one core, a JVM competes with its
 * own compiler.
 */
const WARM_UPS = 2;
/** The fraction of the maximum rate at which latencies are measured. */
const OPEN_SHARE = 0.7;
const CALM_PER_SECOND = 1_000;
const PROBE_BYTES = 4_096;
const PROBE_INTERVAL_MS = 10;
const TARGET = TARGETS.gateway;
const ROWS_TIMEOUT_MS = 120_000;

type Results = ReadonlyMap<Contender, Round>;
/** The number of responses with status 200, by contender. */
type Tally = Map<Contender, number>;

/** Each contender has already answered one request, with which `startContenders` checked its response. */
export const newTally = (contenders: readonly Contender[]): Tally =>
  new Map(contenders.map((contender) => [contender, 1]));

/** Returns the result of the first contender whose name starts with `name`, which may omit a version. */
export const findResult = (results: Results, name: string): Round | undefined =>
  [...results].find(([contender]) => contender.name.startsWith(name))?.[1];

/**
 * Runs each contender in turn, `count` times, so that load changes on the machine affect all contenders. Skips contenders without
 * options. Returns the medians, and adds the accepted requests to the tally.
 */
export const takeTurns = async (
  tally: Tally,
  toOptions: (contender: Contender) => RoundOptions | undefined,
  count = ROUNDS,
): Promise<Results> => {
  const rounds = new Map<Contender, Round[]>();
  for (let turn = 0; turn < count; turn += 1) {
    for (const [contender, answered] of tally) {
      const options = toOptions(contender);
      if (options === undefined) continue;
      const round = await runRound(contender, options);
      tally.set(contender, answered + round.requests - round.refused);
      rounds.set(contender, [...(rounds.get(contender) ?? []), round]);
    }
  }
  return new Map([...rounds].map(([contender, own]) => [contender, medianRound(own)]));
};

const percent = (part: number): string => (part * 100).toFixed(0);

const warnOfOthers = (results: Results): void => {
  const others = Math.max(...[...results.values()].map((round) => round.others));
  if (others <= OTHERS_MAX) return;
  console.log(
    `Other processes used ${percent(others)} % of the servers' core. Measure again when the machine is idle.`,
  );
};

const printThroughput = (results: Results): void => {
  const bare = findResult(results, BARE)?.perSecond ?? Number.NaN;
  printTable(
    [...results].map(([{ name }, round]) => ({
      server: name,
      'requests/s': round.perSecond.toFixed(0),
      'ratio to bare': (round.perSecond / bare).toFixed(2),
      'CPU µs/request': round.cpuMicrosPerRequest.toFixed(1),
      'ran %': percent(round.ran),
      'others on its core %': percent(round.others),
      'generator busy %': percent(round.generatorBusy),
      limit: roundLimit(round),
    })),
  );
  warnOfOthers(results);
};

const printLatencies = (results: Results, offeredTo: (contender: Contender) => number): void => {
  printTable(
    [...results].map(([contender, round]) => ({
      server: contender.name,
      'offered/s': offeredTo(contender),
      'answered/s': round.perSecond.toFixed(0),
      'p50 ms': round.p50Ms.toFixed(2),
      'p99 ms': round.p99Ms.toFixed(2),
      'p99.9 ms': round.p999Ms.toFixed(2),
      'sent late, p99 ms': round.lateP99Ms.toFixed(2),
      'ran %': percent(round.ran),
      'others on its core %': percent(round.others),
      'generator busy %': percent(round.generatorBusy),
    })),
  );
  warnOfOthers(results);
};

/**
 * Compares requests/s with those of bare Node. The target is missed if the generator limited bare Node, because it could have been
 * faster.
 */
const judgeThroughput = (results: Results, standin: string, min: number): Measurement => {
  const [own, bare] = [findResult(results, standin), findResult(results, BARE)];
  const ratio = (own?.perSecond ?? NaN) / (bare?.perSecond ?? NaN);
  const isLimited = bare !== undefined && roundLimit(bare) === 'generator';
  return {
    what: `requests/s, ${standin} to ${BARE}`,
    measured: `${ratio.toFixed(2)} ×${isLimited ? ' (limited by the generator)' : ''}`,
    target: `≥ ${min} ×`,
    met: ratio >= min && !isLimited,
  };
};

/** Compares the CPU time per request with that of a rival. Returns nothing for a rival that was not started. */
const judgeCpu = (results: Results, rival: string, max: number): Measurement[] => {
  const standin = standinName('disk');
  const [own, other] = [findResult(results, standin), findResult(results, rival)];
  if (own === undefined || other === undefined) return [];
  const ratio = own.cpuMicrosPerRequest / other.cpuMicrosPerRequest;
  const what = `CPU per request, ${standin} to ${rival}`;
  return [{ what, measured: `${ratio.toFixed(2)} ×`, target: `≤ ${max} ×`, met: ratio <= max }];
};

/** Writes and syncs a block of a file repeatedly. `stop` ends this and returns the p99 of the durations in milliseconds. */
const probeDisk = (file: string) => {
  const times: number[] = [];
  let isStopped = false;
  const run = async (): Promise<void> => {
    const handle = await open(file, 'w');
    try {
      while (!isStopped) {
        const startedAt = performance.now();
        await handle.write(Buffer.alloc(PROBE_BYTES), 0, PROBE_BYTES, 0);
        await handle.datasync();
        times.push(performance.now() - startedAt);
        await delay(PROBE_INTERVAL_MS);
      }
    } finally {
      await handle.close();
    }
  };
  const running = run();
  return {
    stop: async (): Promise<number> => {
      isStopped = true;
      await running;
      times.sort((a, b) => a - b);
      return times[Math.ceil(times.length * 0.99) - 1] ?? NaN;
    },
  };
};

/** A request waits for a sync that has begun, and then for its own. */
const SYNCS_OF_A_REQUEST = 2;

const judgeLatency = (results: Results, diskP99Ms: number): Measurement => {
  const overMs = (findResult(results, standinName('disk'))?.p99Ms ?? NaN) - (findResult(results, BARE)?.p99Ms ?? NaN);
  return {
    what: `p99 at ${CALM_PER_SECOND} requests/s, ${standinName('disk')} over ${BARE}`,
    measured: `${overMs.toFixed(2)} ms`,
    target: `≤ ${TARGET.calmP99OverBareMsMax} ms + ${SYNCS_OF_A_REQUEST} syncs of ${diskP99Ms.toFixed(2)} ms`,
    met: overMs <= TARGET.calmP99OverBareMsMax + SYNCS_OF_A_REQUEST * diskP99Ms,
  };
};

export const judgeRows = async (tally: Tally): Promise<Measurement[]> => {
  const measurements: Measurement[] = [];
  for (const [{ name, countRows }, answered] of tally) {
    if (countRows === undefined) continue;
    const stored = await eventually('the rows of all accepted requests', countRows, {
      accept: (count) => count >= answered,
      timeoutMs: ROWS_TIMEOUT_MS,
      intervalMs: 500,
    });
    measurements.push({
      what: `${name}: rows of accepted requests`,
      measured: `${stored} of ${answered}`,
      target: 'all, once',
      met: stored === answered,
    });
  }
  return measurements;
};

const compare = async ({ contenders, directory }: Contenders, seconds: number): Promise<Measurement[]> => {
  const tally = newTally(contenders);
  await takeTurns(tally, () => ({ seconds }), WARM_UPS);
  console.log(
    `POST ${REQUEST_BODY_BYTES} B → ${ANSWER_BODY_BYTES} B JSON, ${CONNECTIONS} connections, server on core ${SERVER_CORE}, ` +
      `load generator and ClickHouse on core ${OTHER_CORE}; medians of ${ROUNDS} interleaved rounds of ${seconds} s\n\n` +
      'At the maximum rate (closed loop):',
  );
  const most = await takeTurns(tally, () => ({ seconds }));
  printThroughput(most);
  console.log(`\nAt ${OPEN_SHARE * 100} % of that rate, with random arrivals (open model):`);
  const openRate = (contender: Contender): number => Math.round((most.get(contender)?.perSecond ?? 0) * OPEN_SHARE);
  const open = await takeTurns(tally, (contender) => ({ seconds, perSecond: openRate(contender) }));
  printLatencies(open, openRate);
  console.log(`\nAt ${CALM_PER_SECOND} requests/s (open model):`);
  const disk = probeDisk(path.join(directory, 'probe'));
  const calm = await takeTurns(tally, ({ name, countRows }) =>
    name === BARE || countRows !== undefined ? { seconds, perSecond: CALM_PER_SECOND } : undefined,
  );
  const diskP99Ms = await disk.stop();
  printLatencies(calm, () => CALM_PER_SECOND);
  console.log();
  return [
    judgeThroughput(most, standinName('disk'), TARGET.diskToBareMin),
    judgeThroughput(most, standinName('process'), TARGET.processToBareMin),
    ...judgeCpu(most, MOCKOON, TARGET.cpuToMockoonMax),
    ...judgeCpu(most, WIREMOCK, TARGET.cpuToWireMockMax),
    judgeLatency(calm, diskP99Ms),
    ...(await judgeRows(tally)),
  ];
};

/** Starts the contenders on their core for `measure`, and stops them and removes their files afterwards. */
export const withContenders = async <T>(
  withRivals: boolean,
  measure: (entered: Contenders) => Promise<T>,
): Promise<T> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'standin-bench-'));
  const started: Contender[] = [];
  try {
    await pinToCore(process.pid, OTHER_CORE);
    const onStarted = (contender: Contender): void => void started.push(contender);
    return await measure(await startContenders({ directory, withRivals, onStarted }));
  } finally {
    for (const contender of started) await contender.stop();
    await unpin(process.pid);
    await rm(directory, { recursive: true, force: true });
  }
};

/**
 * Measures requests per second and latencies of the gateway with capture, compared in one run with servers that record nothing and
 * with two well-known mock servers.
 */
export const benchGateway = async ({ seconds, rivals }: BenchOptions): Promise<boolean> => {
  const measurements = await withContenders(rivals, (entered) => compare(entered, seconds));
  printMeasurements(measurements);
  return measurements.every(({ met }) => met);
};
