import { createHistogram, performance } from 'node:perf_hooks';
import { json as readJson } from 'node:stream/consumers';
import { seededRandom } from '../harness/seeded-random.ts';
import { LoadConnection } from './load-connection.ts';

/**
 * This module is the load generator. It is a separate process, so that it can be pinned to a core. It reads `LoadOptions` as JSON
 * from its standard input and prints a `LoadResult`. Its requests are prepared in advance. SIGTERM ends the load early.
 */

/** The input of the load generator. */
export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** Complete requests in Latin-1, sent in turn. */
  readonly requests: readonly string[];
  /**
   * In the open model, the number of requests/s, which arrive at random (Poisson), regardless of earlier responses. A request that
   * finds no free connection waits for one, and its latency is measured from its arrival. Unset for a closed loop, in which each
   * connection sends its next request when it has received the response to the last one.
   */
  readonly perSecond?: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Responses with a status other than 200. */
  readonly refused: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** The fraction of time in which the generator was not waiting. Near 1, the generator is the limit, not the server. */
  readonly generatorBusy: number;
  /**
   * In the open model, the 99th percentile of the time from the moment at which a request was due and a connection was free until
   * it was sent. This time is part of the latencies above. In a closed loop, 0.
   */
  readonly lateP99Ms: number;
}

const SEED = 20_261_121;
/** The range of the latencies in microseconds (up to an hour), and the number of significant digits. */
const HISTOGRAM = { lowest: 1, highest: 3_600_000_000, figures: 3 };
/** In the open model, the timeout at the end for responses in flight and requests that wait for a connection. */
const LAST_ANSWERS_MS_MAX = 60_000;

class Load {
  readonly #options: LoadOptions;
  readonly #requests: readonly Buffer[];
  readonly #latencies = createHistogram(HISTOGRAM);
  readonly #lateness = createHistogram(HISTOGRAM);
  readonly #over = Promise.withResolvers<undefined>();
  #untilMs = 0;
  #turn = 0;
  #answered = 0;
  #refused = 0;
  #running = 0;

  // The following fields are used only in the open model.
  readonly #random = seededRandom(SEED);
  readonly #free: LoadConnection[] = [];
  /** Due times of the requests that found no free connection, starting at `#firstWaiting`. */
  #waiting: number[] = [];
  #firstWaiting = 0;
  #nextDueMs = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#requests = options.requests.map((text) => Buffer.from(text, 'latin1'));
  }

  /** Sends requests for the given time or until `signal` aborts. Resolves when every request has a response. */
  async run(signal: AbortSignal): Promise<LoadResult> {
    const { port, connections: count, seconds, perSecond } = this.#options;
    const onAnswer = (connection: LoadConnection, isOk: boolean): void => this.#answer(connection, isOk);
    const onError = (error: Error): void => this.#over.reject(error);
    const connections = await Promise.all(
      Array.from({ length: count }, () => LoadConnection.open({ port, onAnswer, onError })),
    );
    const utilization = performance.eventLoopUtilization();
    const startedMs = performance.now();
    this.#untilMs = signal.aborted ? startedMs : startedMs + seconds * 1_000;
    signal.addEventListener('abort', () => (this.#untilMs = Math.min(this.#untilMs, performance.now())));
    if (perSecond === undefined) for (const connection of connections) this.#send(connection, startedMs, startedMs);
    else {
      this.#free.push(...connections);
      for (const connection of connections) connection.freeSinceMs = startedMs;
      this.#nextDueMs = startedMs + this.#gapMs(perSecond);
      this.#tick(perSecond);
    }
    await this.#over.promise;
    const endedMs = performance.now();
    const { utilization: generatorBusy } = performance.eventLoopUtilization(utilization);
    for (const connection of connections) connection.close();
    const percentileMs = (part: number): number => this.#latencies.percentile(part) / 1_000;
    return {
      requests: this.#answered,
      seconds: (endedMs - startedMs) / 1_000,
      refused: this.#refused,
      p50Ms: percentileMs(50),
      p99Ms: percentileMs(99),
      p999Ms: percentileMs(99.9),
      generatorBusy,
      lateP99Ms: perSecond === undefined ? 0 : this.#lateness.percentile(99) / 1_000,
    };
  }

  #send(connection: LoadConnection, dueMs: number, nowMs: number): void {
    connection.dueMs = dueMs;
    this.#running += 1;
    this.#turn = (this.#turn + 1) % this.#requests.length;
    const request = this.#requests[this.#turn];
    if (request !== undefined) connection.send(request);
    if (this.#options.perSecond === undefined) return;
    this.#lateness.record(microseconds(nowMs - Math.max(dueMs, connection.freeSinceMs)));
  }

  #answer(connection: LoadConnection, isOk: boolean): void {
    const nowMs = performance.now();
    this.#running -= 1;
    this.#answered += 1;
    if (!isOk) this.#refused += 1;
    this.#latencies.record(microseconds(nowMs - connection.dueMs));
    const { perSecond } = this.#options;
    if (perSecond !== undefined) {
      connection.freeSinceMs = nowMs;
      this.#free.push(connection);
      this.#sendDue(perSecond, nowMs);
    } else if (nowMs < this.#untilMs) this.#send(connection, nowMs, nowMs);
    else if (this.#running === 0) this.#over.resolve(undefined);
  }

  /** Returns an exponentially distributed gap, as between calls of many independent clients. */
  #gapMs(perSecond: number): number {
    return (-Math.log(1 - this.#random()) / perSecond) * 1_000;
  }

  #sendDue(perSecond: number, nowMs: number): void {
    for (; this.#nextDueMs <= nowMs && this.#nextDueMs < this.#untilMs; this.#nextDueMs += this.#gapMs(perSecond)) {
      this.#waiting.push(this.#nextDueMs);
    }
    while (this.#firstWaiting < this.#waiting.length) {
      // Takes the connection that has been free the longest, because servers close unused connections.
      const connection = this.#free.shift();
      if (connection === undefined) return;
      this.#send(connection, this.#waiting[this.#firstWaiting] ?? nowMs, nowMs);
      this.#firstWaiting += 1;
    }
    this.#waiting = [];
    this.#firstWaiting = 0;
  }

  #tick(perSecond: number): void {
    const nowMs = performance.now();
    this.#sendDue(perSecond, nowMs);
    if (nowMs < this.#untilMs || this.#waiting.length > 0 || this.#running > 0) {
      if (nowMs > this.#untilMs + LAST_ANSWERS_MS_MAX) {
        this.#over.reject(new Error(`the server cannot handle ${perSecond} requests/s`));
      } else setTimeout(() => this.#tick(perSecond), 1);
    } else this.#over.resolve(undefined);
  }
}

const microseconds = (ms: number): number => Math.max(1, Math.round(ms * 1_000));

if (import.meta.main) {
  const stopping = new AbortController();
  process.once('SIGTERM', () => stopping.abort());
  const load = new Load((await readJson(process.stdin)) as LoadOptions);
  console.log(JSON.stringify(await load.run(stopping.signal)));
  process.exit(0);
}
