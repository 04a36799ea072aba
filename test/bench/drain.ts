import { eventually } from '../harness/eventually.ts';
import type { Stand } from '../torture/stand.ts';
import { OTHER_CORE, settled, startStandin } from './contenders.ts';
import { pinToCore, printMeasurements, unpin, type Measurement } from './machine.ts';
import { MixedLoad } from './mixed-load.ts';
import type { BenchOptions } from './options.ts';
import { TARGETS } from './targets.ts';

const WARM_UP_SECONDS = 10;
const { drainedToGrownMin } = TARGETS.drain;
/**
 * A backlog counts as drained when it is no larger than the rows that arrive in this time, because some rows are always in flight.
 */
const LEFT_SECONDS = 2;
const HOUR_S = 3_600;
const BACKLOG_TIMEOUT_MS = HOUR_S * 1_000;
const SAMPLE_MS = 200;
/** The size limit of the spool. It is larger than the total size of all rows, because this benchmark does not measure a full spool. */
const SPOOL_BYTES = 1024 ** 4;

/**
 * Waits until the backlog has the expected size. Returns how long this took and the rate at which the backlog grew. The rate is
 * negative if the backlog shrank.
 */
const until = async (load: MixedLoad, isEnough: (mib: number) => boolean) => {
  const started = performance.now();
  const { backlogMib: before } = await load.sample();
  const { backlogMib: after } = await eventually('the backlog to have the expected size', () => load.sample(), {
    accept: ({ backlogMib }) => isEnough(backlogMib),
    timeoutMs: BACKLOG_TIMEOUT_MS,
    intervalMs: SAMPLE_MS,
  });
  const seconds = (performance.now() - started) / 1_000;
  return { seconds, mibPerSecond: (after - before) / seconds };
};

interface Backlog {
  readonly backlogMib: number;
  /** Requests per second while the backlog grows and shrinks. */
  readonly rate: number;
}

/** Makes ClickHouse hang until the backlog has this size, then lets it respond again while the load continues. */
const growAndShrink = async (stand: Stand, load: MixedLoad, { backlogMib, rate }: Backlog): Promise<Measurement> => {
  const { gatewayMiB: beforeMiB } = await load.sample();
  process.kill(stand.enginePid, 'SIGSTOP');
  const grown = await until(load, (mib) => mib >= backlogMib).finally(() => process.kill(stand.enginePid, 'SIGCONT'));
  const rowsBefore = await stand.metric('standin_deliver_rows_total');
  const drained = await until(load, (mib) => mib <= grown.mibPerSecond * LEFT_SECONDS);
  const rows = (await stand.metric('standin_deliver_rows_total')) - rowsBefore;
  const { gatewayMiB: afterMiB } = await load.sample();
  const ratio = -drained.mibPerSecond / grown.mibPerSecond;
  console.log(
    `the backlog grew to ${backlogMib} MiB in ${grown.seconds.toFixed(0)} s at ${rate} requests/s, ` +
      `${grown.mibPerSecond.toFixed(1)} MiB/s; when ClickHouse resumed under the same load, it was drained after ` +
      `${drained.seconds.toFixed(0)} s, ${(-drained.mibPerSecond).toFixed(1)} MiB/s net, ${(rows / drained.seconds).toFixed(0)} ` +
      `rows/s in total; the gateway's memory ${beforeMiB.toFixed(0)} MiB before, ${afterMiB.toFixed(0)} MiB after\n`,
  );
  return {
    what: `a backlog of ${backlogMib} MiB, drained to grown`,
    measured: `${ratio.toFixed(1)} ×`,
    target: `≥ ${drainedToGrownMin} ×`,
    met: ratio >= drainedToGrownMin,
  };
};

/**
 * Measures how fast a gateway drains its backlog to ClickHouse. The gateway and ClickHouse may use all cores. The load generator
 * has one of them.
 */
export const benchDrain = async (options: BenchOptions): Promise<boolean> => {
  await using stand = await startStandin('disk', { STANDIN_SPOOL_BYTES: String(SPOOL_BYTES) });
  const load = await MixedLoad.on(stand);
  try {
    await pinToCore(process.pid, OTHER_CORE);
    await load.run({ seconds: WARM_UP_SECONDS });
    await settled(stand);
    for (const pid of [stand.gateway.pid, stand.enginePid]) await unpin(pid);
    const over = new AbortController();
    const loaded = load.run({ seconds: HOUR_S, perSecond: options.rate, signal: over.signal });
    const judged = growAndShrink(stand, load, options).finally(() => over.abort());
    const [drained, { refused }] = await Promise.all([judged, loaded]);
    await settled(stand);
    const stored = await stand.countRows();
    const measurements: Measurement[] = [
      drained,
      { what: 'requests rejected in the meantime', measured: String(refused), target: '0', met: refused === 0 },
      {
        what: 'rows of accepted requests',
        measured: `${stored} of ${load.accepted}`,
        target: 'all, once',
        met: stored === load.accepted,
      },
    ];
    printMeasurements(measurements);
    return measurements.every(({ met }) => met);
  } finally {
    await unpin(process.pid);
  }
};
