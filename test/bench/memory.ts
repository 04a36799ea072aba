import { setTimeout as delay } from 'node:timers/promises';
import { OTHER_CORE, settled, startStandin } from './contenders.ts';
import { median, pinToCore, printMeasurements, unpin, type Measurement } from './machine.ts';
import { MixedLoad, type Sample } from './mixed-load.ts';
import type { BenchOptions } from './options.ts';
import { TARGETS } from './targets.ts';

const LOAD_SHARE = 0.7;
const WARM_UP_SECONDS = 10;
const MAXIMUM_SECONDS = 6;
const SAMPLE_MS = 1_000;
/** The fraction of the time, at its beginning, that counts as a warm-up. */
const WARM_PART = 0.2;
/** The length of each of the two periods that are compared, as a fraction of the time. */
const COMPARED_PART = 0.2;
const { growthPercentMax } = TARGETS.memory;
/** The size limit of the spool. It is larger than the total size of all rows, because this benchmark does not measure a full spool. */
const SPOOL_BYTES = 1024 ** 4;

/** Samples the gateway once per second until `during` is settled. */
const sampled = async (load: MixedLoad, during: Promise<unknown>): Promise<Sample[]> => {
  const samples: Sample[] = [];
  const over = new AbortController();
  const ended = during.finally(() => over.abort());
  // If `during` fails, the error is thrown at the end, by `await ended`.
  ended.catch(() => undefined);
  while (!over.signal.aborted) {
    samples.push(await load.sample());
    await delay(SAMPLE_MS, undefined, { signal: over.signal }).catch(() => undefined);
  }
  await ended;
  return samples;
};

/** Returns the medians of the gateway's memory in the first period after the warm-up and in the last period. */
const memoryGrowth = (samples: readonly Sample[]): { readonly beforeMiB: number; readonly afterMiB: number } => {
  const mib = samples.map(({ gatewayMiB }) => gatewayMiB);
  const at = (part: number): number => Math.floor(mib.length * part);
  return {
    beforeMiB: median(mib.slice(at(WARM_PART), Math.max(at(WARM_PART + COMPARED_PART), at(WARM_PART) + 1))),
    afterMiB: median(mib.slice(Math.min(at(1 - COMPARED_PART), mib.length - 1))),
  };
};

/** Applies a constant load for `minutes` and samples the gateway. */
const hold = async (load: MixedLoad, { minutes, perSecond }: { minutes: number; perSecond: number }) => {
  const loaded = load.run({ seconds: minutes * 60, perSecond });
  const samples = await sampled(load, loaded);
  const { requests, refused, p99Ms, generatorBusy } = await loaded;
  const peakMiB = Math.max(...samples.map(({ gatewayMiB }) => gatewayMiB));
  const backlogMib = Math.max(...samples.map((sample) => sample.backlogMib));
  console.log(
    `${minutes} minutes at ${perSecond} requests/s, ${LOAD_SHARE * 100} % of the maximum: ${requests} requests, p99 ` +
      `${p99Ms.toFixed(1)} ms, generator busy ${(generatorBusy * 100).toFixed(0)} %; ${samples.length} samples of the gateway: ` +
      `at most ${peakMiB.toFixed(0)} MiB of memory, ${backlogMib.toFixed(0)} MiB on disk`,
  );
  return { ...memoryGrowth(samples), refused };
};

/** Measures the gateway's memory under load. */
export const benchMemory = async ({ minutes }: BenchOptions): Promise<boolean> => {
  await using stand = await startStandin('disk', { STANDIN_SPOOL_BYTES: String(SPOOL_BYTES) });
  const load = await MixedLoad.on(stand);
  try {
    await pinToCore(process.pid, OTHER_CORE);
    await load.run({ seconds: WARM_UP_SECONDS });
    const maximum = await load.run({ seconds: MAXIMUM_SECONDS });
    await settled(stand);
    const perSecond = Math.round((maximum.requests / maximum.seconds) * LOAD_SHARE);
    const { beforeMiB, afterMiB, refused } = await hold(load, { minutes, perSecond });
    const growthPercent = (afterMiB / beforeMiB - 1) * 100;
    const measurements: Measurement[] = [
      {
        what: `the gateway's memory over ${minutes} minutes`,
        measured: `${beforeMiB.toFixed(0)} → ${afterMiB.toFixed(0)} MiB (${growthPercent.toFixed(0)} %)`,
        target: `≤ ${growthPercentMax} % more`,
        met: growthPercent <= growthPercentMax,
      },
      { what: 'requests rejected under that load', measured: String(refused), target: '0', met: refused === 0 },
    ];
    printMeasurements(measurements);
    return measurements.every(({ met }) => met);
  } finally {
    await unpin(process.pid);
  }
};
