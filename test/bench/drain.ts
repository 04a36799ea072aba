import { eventually } from '../harness/eventually.ts';
import type { Stand } from '../torture/stand.ts';
import { OTHER_CORE, settled, startStandin } from './contenders.ts';
import { pinToCore, printMeasurements, unpin, type Measurement } from './machine.ts';
import { MixedLoad } from './mixed-load.ts';
import type { BenchOptions } from './options.ts';

const WARM_UP_SECONDS = 10;
const DRAIN_RATIO_MIN = 5;
/** A backlog counts as drained when it is no larger than what arrives in this time: some rows are always in flight. */
const LEFT_SECONDS = 2;
const HOUR_S = 3_600;
const BACKLOG_TIMEOUT_MS = HOUR_S * 1_000;
const LOOK_MS = 200;
/** Larger than all rows together: this benchmark does not measure a full spool. */
const SPOOL_BYTES = 1024 ** 4;

/** How fast the backlog changes until it has the wanted size. */
const until = async (load: MixedLoad, isEnough: (mib: number) => boolean) => {
  const started = performance.now();
  const { backlogMib: before } = await load.look();
  const { backlogMib: after } = await eventually('the backlog to be as wanted', () => load.look(), {
    ...{ accept: ({ backlogMib }) => isEnough(backlogMib), timeoutMs: BACKLOG_TIMEOUT_MS, intervalMs: LOOK_MS },
  });
  const seconds = (performance.now() - started) / 1_000;
  return { seconds, mibPerSecond: (after - before) / seconds };
};

interface Backlog {
  readonly backlogMib: number;
  /** Requests per second during the whole benchmark. */
  readonly rate: number;
}

/** ClickHouse hangs until the backlog has this size, then responds again while the load continues. */
const growAndShrink = async (stand: Stand, load: MixedLoad, { backlogMib, rate }: Backlog): Promise<Measurement> => {
  const { gatewayMiB: beforeMiB } = await load.look();
  process.kill(stand.enginePid, 'SIGSTOP');
  const grown = await until(load, (mib) => mib >= backlogMib).finally(() => process.kill(stand.enginePid, 'SIGCONT'));
  const rowsBefore = await stand.metric('standin_deliver_rows_total');
  const drained = await until(load, (mib) => mib <= grown.mibPerSecond * LEFT_SECONDS);
  const rows = (await stand.metric('standin_deliver_rows_total')) - rowsBefore;
  const { gatewayMiB: afterMiB } = await load.look();
  const ratio = -drained.mibPerSecond / grown.mibPerSecond;
  console.log(
    `at ${rate} requests/s ${backlogMib} MiB came together in ${grown.seconds.toFixed(0)} s, ` +
      `${grown.mibPerSecond.toFixed(1)} MiB/s; with ClickHouse back and the load going on they were gone after ` +
      `${drained.seconds.toFixed(0)} s, ${(-drained.mibPerSecond).toFixed(1)} MiB/s net, ${(rows / drained.seconds).toFixed(0)} ` +
      `rows/s in all; the gateway's memory ${beforeMiB.toFixed(0)} MiB before, ${afterMiB.toFixed(0)} MiB after\n`,
  );
  return {
    what: `a backlog of ${backlogMib} MiB, drained to grown`,
    measured: `${ratio.toFixed(1)} ×`,
    bar: `≥ ${DRAIN_RATIO_MIN} ×`,
    met: ratio >= DRAIN_RATIO_MIN,
  };
};

/** How fast a gateway drains its backlog for ClickHouse. All processes share both cores. */
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
      { what: 'requests refused meanwhile', measured: String(refused), bar: '0', met: refused === 0 },
      {
        what: 'rows of the answers',
        measured: `${stored} of ${load.accepted}`,
        bar: 'all, once',
        met: stored === load.accepted,
      },
    ];
    printMeasurements(measurements);
    return measurements.every(({ met }) => met);
  } finally {
    await unpin(process.pid);
  }
};
