import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '../harness/eventually.ts';
import {
  ANSWER_BODY_BYTES,
  BARE,
  OTHER_CORE,
  REQUEST_BODY_BYTES,
  SERVER_CORE,
  standinName,
  startContenders,
  type Contender,
} from './contenders.ts';
import { pinToCore, printMeasurements, printTable, unpin, type Measurement } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { CONNECTIONS, limitOf, medianRound, OTHERS_MAX, roundOf, type Round, type RoundOptions } from './rounds.ts';

const ROUNDS = 3;
/**
 * The number of rounds whose results are discarded, because just-in-time compilers need time. On one core, a JVM competes with its
 * own compiler.
 */
const WARM_UPS = 2;
/** The fraction of the maximum rate at which latencies are measured. */
const OPEN_SHARE = 0.7;
const CALM_PER_SECOND = 1_000;
const CALM_P99_OVER_BARE_MS_MAX = 8;
/**
 * Minimum ratios of Standin's requests/s to those of each rival. The first contender whose name starts with the rival's name
 * counts.
 */
const RATIOS_MIN = [
  { standin: standinName('disk'), rival: BARE, min: 0.4 },
  { standin: standinName('process'), rival: BARE, min: 0.5 },
  { standin: standinName('disk'), rival: 'Mockoon', min: 6 },
  { standin: standinName('disk'), rival: 'WireMock', min: 10 },
] as const;
const ROWS_TIMEOUT_MS = 120_000;

type Results = ReadonlyMap<Contender, Round>;
/** The number of responses with status 200, by contender. */
type Tally = Map<Contender, number>;

const resultOf = (results: Results, name: string): Round | undefined =>
  [...results].find(([contender]) => contender.name.startsWith(name))?.[1];

/**
 * Runs each contender in turn, `count` times, so that load changes on the machine affect all contenders. Skips contenders without
 * options. Returns the medians, and adds the accepted requests to the tally.
 */
const takeTurns = async (
  tally: Tally,
  optionsOf: (contender: Contender) => RoundOptions | undefined,
  count = ROUNDS,
): Promise<Results> => {
  const rounds = new Map<Contender, Round[]>();
  for (let turn = 0; turn < count; turn += 1) {
    for (const [contender, answered] of tally) {
      const options = optionsOf(contender);
      if (options === undefined) continue;
      const round = await roundOf(contender, options);
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
  const bare = resultOf(results, BARE)?.perSecond ?? Number.NaN;
  printTable(
    [...results].map(([{ name }, round]) => ({
      server: name,
      'requests/s': round.perSecond.toFixed(0),
      'ratio to bare': (round.perSecond / bare).toFixed(2),
      'CPU µs/request': round.cpuMicrosPerRequest.toFixed(1),
      'ran %': percent(round.ran),
      'others on its core %': percent(round.others),
      'generator busy %': percent(round.generatorBusy),
      limit: limitOf(round),
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
 * Compares the ratios with their targets. A ratio fails if the generator limited the rival, because the rival could have been
 * faster.
 */
const judgeRatios = (results: Results): Measurement[] =>
  RATIOS_MIN.flatMap(({ standin, rival, min }) => {
    const [own, other] = [resultOf(results, standin), resultOf(results, rival)];
    if (own === undefined || other === undefined) return [];
    const ratio = own.perSecond / other.perSecond;
    const isLimited = limitOf(other) === 'generator';
    return {
      what: `requests/s, ${standin} to ${rival}`,
      measured: `${ratio.toFixed(2)} ×${isLimited ? ' (limited by the generator)' : ''}`,
      target: `≥ ${min} ×`,
      met: ratio >= min && !isLimited,
    };
  });

const judgeLatency = (results: Results): Measurement => {
  const overMs = (resultOf(results, standinName('disk'))?.p99Ms ?? NaN) - (resultOf(results, BARE)?.p99Ms ?? NaN);
  return {
    what: `p99 at ${CALM_PER_SECOND} requests/s, ${standinName('disk')} over ${BARE}`,
    measured: `${overMs.toFixed(2)} ms`,
    target: `≤ ${CALM_P99_OVER_BARE_MS_MAX} ms`,
    met: overMs <= CALM_P99_OVER_BARE_MS_MAX,
  };
};

const judgeRows = async (tally: Tally): Promise<Measurement[]> => {
  const measurements: Measurement[] = [];
  for (const [{ name, countRows }, answered] of tally) {
    if (countRows === undefined) continue;
    const stored = await eventually('the rows of all accepted requests', countRows, {
      ...{ accept: (count) => count >= answered, timeoutMs: ROWS_TIMEOUT_MS, intervalMs: 500 },
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

const compare = async (contenders: readonly Contender[], seconds: number): Promise<Measurement[]> => {
  // Each contender has already answered one request, with which `startContenders` checked its response.
  const tally: Tally = new Map(contenders.map((contender) => [contender, 1]));
  await takeTurns(tally, () => ({ seconds }), WARM_UPS);
  console.log(
    `POST ${REQUEST_BODY_BYTES} B → ${ANSWER_BODY_BYTES} B JSON, ${CONNECTIONS} connections, server on core ${SERVER_CORE}, ` +
      `load generator and ClickHouse on core ${OTHER_CORE}; medians of ${ROUNDS} interleaved rounds of ${seconds} s\n\n` +
      'At the maximum rate (closed loop):',
  );
  const most = await takeTurns(tally, () => ({ seconds }));
  printThroughput(most);
  console.log(`\nAt ${OPEN_SHARE * 100} % of that rate, with random arrivals (open model):`);
  const shareOf = (contender: Contender): number => Math.round((most.get(contender)?.perSecond ?? 0) * OPEN_SHARE);
  const open = await takeTurns(tally, (contender) => ({ seconds, perSecond: shareOf(contender) }));
  printLatencies(open, shareOf);
  console.log(`\nAt ${CALM_PER_SECOND} requests/s (open model):`);
  const calm = await takeTurns(tally, ({ name, countRows }) =>
    name === BARE || countRows !== undefined ? { seconds, perSecond: CALM_PER_SECOND } : undefined,
  );
  printLatencies(calm, () => CALM_PER_SECOND);
  console.log();
  return [...judgeRatios(most), judgeLatency(calm), ...(await judgeRows(tally))];
};

/**
 * Measures requests per second and latencies of the gateway with capture, compared in one run with servers that record nothing and
 * with two well-known mock servers.
 */
export const benchGateway = async ({ seconds, rivals }: BenchOptions): Promise<boolean> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'standin-bench-'));
  const started: Contender[] = [];
  try {
    await pinToCore(process.pid, OTHER_CORE);
    const onStarted = (contender: Contender): void => void started.push(contender);
    const contenders = await startContenders({ directory, withRivals: rivals, onStarted });
    const measurements = await compare(contenders, seconds);
    printMeasurements(measurements);
    return measurements.every(({ met }) => met);
  } finally {
    for (const contender of started) await contender.stop();
    await unpin(process.pid);
    await rm(directory, { recursive: true, force: true });
  }
};
