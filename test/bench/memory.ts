import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../harness/eventually.ts';
import { seededRandom } from '../harness/seeded-random.ts';
import { json, type Stand } from '../torture/stand.ts';
import { OTHER_CORE, postOf, settled, startStandin } from './contenders.ts';
import type { LoadResult } from './load.ts';
import { median, pinToCore, printMeasurements, residentMiB, unpin, type Measurement } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { runLoad } from './run-load.ts';

const MIB = 1024 * 1024;
const CONNECTIONS = 64;
const LOAD_SHARE = 0.7;
const WARM_UP_SECONDS = 10;
const MAXIMUM_SECONDS = 6;
const SAMPLE_MS = 1_000;
/** Of the time: until it is warm, and then at both ends of what is compared. */
const WARM_PART = 0.2;
const COMPARED_PART = 0.2;
const GROWTH_MAX = 0.1;
const DRAIN_RATIO_MIN = 5;
/** A backlog counts as drained when no more is left than comes in in this time: there is always something on its way. */
const LEFT_SECONDS = 2;
const HOUR_S = 3_600;
const BACKLOG_TIMEOUT_MS = HOUR_S * 1_000;
const LOOK_MS = 200;
/** More than comes together: what is measured is not when it is full. */
const SPOOL_BYTES = 1024 ** 4;
const SLUG = '/bench';
const ANSWER = JSON.stringify({ id: '018f2c5e-0000-7000-8000-000000000000', note: 'x'.repeat(780) });
/** Different requests, of all sizes between these: most of them small. */
const REQUESTS = 200;
const BODY_BYTES_MIN = 16;
const BODY_BYTES_MAX = 8_192;

const requestsOf = (stand: Stand): string[] => {
  const random = seededRandom(REQUESTS);
  return Array.from({ length: REQUESTS }, () => {
    const bytes = Math.floor(BODY_BYTES_MIN * (BODY_BYTES_MAX / BODY_BYTES_MIN) ** random());
    const body = Array.from({ length: bytes }, () => String.fromCharCode(32 + Math.floor(random() * 95))).join('');
    return postOf(`/${stand.own.uri}${SLUG}`, `x-api-key: ${stand.own.key}\r\n`, body);
  });
};

interface Sample {
  readonly gatewayMiB: number;
  readonly backlogMib: number;
}

const lookAt = async (stand: Stand): Promise<Sample> => {
  const backlogBytes = await stand.metric('standin_deliver_backlog_bytes');
  return { gatewayMiB: await residentMiB(stand.gateway.pid), backlogMib: backlogBytes / MIB };
};

interface LoadPart {
  readonly seconds: number;
  readonly perSecond?: number;
  readonly signal?: AbortSignal;
}

/** Looks at the gateway once a second until `during` is settled. */
const sampled = async (stand: Stand, during: Promise<unknown>): Promise<Sample[]> => {
  const samples: Sample[] = [];
  const over = new AbortController();
  const ended = during.finally(() => over.abort());
  // Said at the end.
  ended.catch(() => undefined);
  while (!over.signal.aborted) {
    samples.push(await lookAt(stand));
    await delay(SAMPLE_MS, undefined, { signal: over.signal }).catch(() => undefined);
  }
  await ended;
  return samples;
};

/** Memory of the gateway before and after: medians of the first part that is warm, and of the last. */
const growthOf = (samples: readonly Sample[]): { readonly beforeMiB: number; readonly afterMiB: number } => {
  const mib = samples.map(({ gatewayMiB }) => gatewayMiB);
  const at = (part: number): number => Math.floor(mib.length * part);
  return {
    beforeMiB: median(mib.slice(at(WARM_PART), Math.max(at(WARM_PART + COMPARED_PART), at(WARM_PART) + 1))),
    afterMiB: median(mib.slice(Math.min(at(1 - COMPARED_PART), mib.length - 1))),
  };
};

class MemoryBench {
  readonly #stand: Stand;
  readonly #requests: readonly string[];
  #answered = 0;

  constructor(stand: Stand) {
    this.#stand = stand;
    this.#requests = requestsOf(stand);
  }

  /** Under constant load for some minutes. */
  async hold(minutes: number): Promise<Measurement[]> {
    await this.#load({ seconds: WARM_UP_SECONDS });
    const maximum = await this.#load({ seconds: MAXIMUM_SECONDS });
    await settled(this.#stand);
    const perSecond = Math.round((maximum.requests / maximum.seconds) * LOAD_SHARE);
    const loaded = this.#load({ seconds: minutes * 60, perSecond });
    const samples = await sampled(this.#stand, loaded);
    const { requests, refused, p99Ms, generatorBusy } = await loaded;
    const { beforeMiB, afterMiB } = growthOf(samples);
    const growth = afterMiB / beforeMiB - 1;
    const peakMiB = Math.max(...samples.map(({ gatewayMiB }) => gatewayMiB));
    const backlogMib = Math.max(...samples.map((sample) => sample.backlogMib));
    console.log(
      `${minutes} minutes at ${perSecond} requests/s, ${LOAD_SHARE * 100} % of the maximum: ${requests} requests, p99 ` +
        `${p99Ms.toFixed(1)} ms, generator busy ${(generatorBusy * 100).toFixed(0)} %; ${samples.length} looks at the gateway: ` +
        `at most ${peakMiB.toFixed(0)} MiB of memory, ${backlogMib.toFixed(0)} MiB on disk`,
    );
    return [
      {
        what: `the gateway's memory over ${minutes} minutes`,
        measured: `${beforeMiB.toFixed(0)} → ${afterMiB.toFixed(0)} MiB (${(growth * 100).toFixed(0)} %)`,
        bar: `≤ ${GROWTH_MAX * 100} % more`,
        met: growth <= GROWTH_MAX,
      },
      { what: 'requests refused under that load', measured: String(refused), bar: '0', met: refused === 0 },
    ];
  }

  /** ClickHouse hangs until so much waits for it, and comes back while the load goes on. Both cores are everybody's. */
  async drain(backlogMib: number, perSecond: number): Promise<Measurement[]> {
    await settled(this.#stand);
    for (const pid of [this.#stand.gateway.pid, this.#stand.enginePid]) await unpin(pid);
    const over = new AbortController();
    const loaded = this.#load({ seconds: HOUR_S, perSecond, signal: over.signal });
    const judged = this.#growAndShrink(backlogMib, perSecond).finally(() => over.abort());
    const [measurement, { refused }] = await Promise.all([judged, loaded]);
    return [
      measurement,
      { what: 'requests refused meanwhile', measured: String(refused), bar: '0', met: refused === 0 },
    ];
  }

  /** Every answer has its row. */
  async rows(): Promise<Measurement> {
    await settled(this.#stand);
    const stored = await this.#stand.countRows();
    const [measured, met] = [`${stored} of ${this.#answered}`, stored === this.#answered];
    return { what: 'rows of the answers', measured, bar: 'all, once', met };
  }

  async #growAndShrink(backlogMib: number, perSecond: number): Promise<Measurement> {
    const { gatewayMiB: beforeMiB } = await this.#look();
    process.kill(this.#stand.enginePid, 'SIGSTOP');
    const grown = await this.#until((mib) => mib >= backlogMib).finally(() =>
      process.kill(this.#stand.enginePid, 'SIGCONT'),
    );
    const rowsBefore = await this.#stand.metric('standin_deliver_rows_total');
    const drained = await this.#until((mib) => mib <= grown.mibPerSecond * LEFT_SECONDS);
    const rows = (await this.#stand.metric('standin_deliver_rows_total')) - rowsBefore;
    const { gatewayMiB: afterMiB } = await this.#look();
    const ratio = -drained.mibPerSecond / grown.mibPerSecond;
    console.log(
      `\nat ${perSecond} requests/s ${backlogMib} MiB came together in ${grown.seconds.toFixed(0)} s, ` +
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
  }

  /** How fast the backlog changes until it is as wanted. */
  async #until(isEnough: (mib: number) => boolean): Promise<{ seconds: number; mibPerSecond: number }> {
    const started = performance.now();
    const { backlogMib: before } = await this.#look();
    const { backlogMib: after } = await eventually('the backlog to be as wanted', () => this.#look(), {
      ...{ accept: ({ backlogMib }) => isEnough(backlogMib), timeoutMs: BACKLOG_TIMEOUT_MS, intervalMs: LOOK_MS },
    });
    const seconds = (performance.now() - started) / 1_000;
    return { seconds, mibPerSecond: (after - before) / seconds };
  }

  #look(): Promise<Sample> {
    return lookAt(this.#stand);
  }

  async #load({ signal, ...options }: LoadPart): Promise<LoadResult> {
    const load = { port: this.#stand.port, requests: this.#requests, connections: CONNECTIONS, ...options };
    const result = await runLoad(load, { core: OTHER_CORE, ...(signal === undefined ? {} : { signal }) });
    this.#answered += result.requests - result.refused;
    return result;
  }
}

/** The gateway's memory under load, and how it gets rid of what waited for ClickHouse. */
export const benchMemory = async ({ minutes, backlogMib, rate }: BenchOptions): Promise<boolean> => {
  await using stand = await startStandin('disk', { STANDIN_SPOOL_BYTES: String(SPOOL_BYTES) });
  await stand.publish({ slug: SLUG, method: 'POST', action: json(ANSWER) });
  try {
    await pinToCore(process.pid, OTHER_CORE);
    const bench = new MemoryBench(stand);
    const measurements = [...(await bench.hold(minutes)), ...(await bench.drain(backlogMib, rate)), await bench.rows()];
    printMeasurements(measurements);
    return measurements.every(({ met }) => met);
  } finally {
    await unpin(process.pid);
  }
};
