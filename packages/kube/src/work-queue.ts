// client-node has no work queue.

import { exponentialMs, SharedPool, type BackoffOptions } from '@standin/contract';
import type { Registry } from 'prom-client';
import { systemClock, type Clock } from './clock.ts';
import type { KubeLogger } from './logger.ts';
import { workQueueMetrics, type QueueProbe } from './metrics.ts';

export interface ReconcileResult {
  /** The time after which this key is reconciled again, even though nothing failed. */
  readonly requeueAfterMs?: number;
}

const NO_NAMESPACE = '';

/** For how long runs without I/O may follow each other before everything else in the process has its turn. */
const TURN_MS = 50;

/** The same values as in client-go's exponential backoff per item. */
const BACKOFF_DEFAULT = { baseMs: 5, capMs: 1_000_000 };

export interface WorkQueueOptions<Key extends string> {
  /** The value of the labels `name` and `controller` on the metrics. */
  readonly name: string;
  /** The number of workers. A key never runs on two of them at once. */
  readonly concurrency?: number;
  /**
   * Reconciles the actual state of `key` with its desired state. Receives the key, not the event. An error causes a retry with
   * backoff. `signal` aborts when the queue stops.
   */
  readonly reconcile: (key: Key, signal: AbortSignal) => Promise<ReconcileResult | undefined>;
  readonly backoff?: BackoffOptions;
  readonly logger: KubeLogger;
  /**
   * Returns fields for log lines about a key, such as the namespace and name of its object. The keys of a namespace share the workers
   * with those of others. Keys without a namespace can have all workers.
   */
  readonly about?: (key: Key) => { readonly namespace?: string };
  readonly registry?: Registry | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * A keyed work queue with controller-runtime's rules. A key waits only once, runs on one worker at a time, and runs again if it
 * was added while it was running. Failures back off per key. A success resets the backoff. Unlike in controller-runtime, namespaces take
 * turns, and slow work for one of them leaves workers for the others (see `SharedPool`).
 */
export class WorkQueue<Key extends string = string> {
  readonly #options: WorkQueueOptions<Key>;
  readonly #clock: Clock;
  readonly #concurrency: number;
  readonly #metrics: ReturnType<typeof workQueueMetrics> | undefined;
  readonly #labels: { readonly name: string; readonly controller: string };
  /** Keys waiting for a worker, with their arrival times. */
  readonly #waiting = new Map<Key, number>();
  /** The same keys by namespace, in order. The first namespace with a share left is next. */
  readonly #lines = new Map<string, Set<Key>>();
  readonly #shares: SharedPool;
  /** When the first key was begun in this turn of the event loop. */
  #turnStartedAt: number | undefined;
  #isYielding = false;
  readonly #running = new Map<Key, number>();
  /** Keys that were added while they were running. */
  readonly #again = new Set<Key>();
  readonly #failures = new Map<Key, number>();
  readonly #delayed = new Map<Key, { readonly dueAt: number; readonly timer: NodeJS.Timeout }>();
  readonly #workers = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #probe: QueueProbe;

  constructor(options: WorkQueueOptions<Key>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#concurrency = options.concurrency ?? 1;
    this.#shares = new SharedPool(this.#concurrency);
    this.#labels = { name: options.name, controller: options.name };
    this.#metrics = options.registry === undefined ? undefined : workQueueMetrics(options.registry);
    this.#probe = {
      name: options.name,
      depth: () => this.#waiting.size,
      runningSeconds: () => [...this.#running.values()].map((since) => (this.#clock.now() - since) / 1_000),
    };
    this.#metrics?.maxConcurrent.set({ controller: options.name }, this.#concurrency);
    this.#metrics?.queues.add(this.#probe);
  }

  /** The number of keys that are waiting, are running, or will run after a delay. */
  get size(): number {
    return this.#waiting.size + this.#running.size + this.#delayed.size;
  }

  /** Adds a key and cancels its pending delay, because a change does not wait for a backoff. */
  add(key: Key): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancelDelay(key);
    if (this.#running.has(key)) {
      if (!this.#again.has(key)) this.#metrics?.adds.inc(this.#labels);
      this.#again.add(key);
      return;
    }
    if (this.#waiting.has(key)) return;
    this.#wait(key);
    this.#metrics?.adds.inc(this.#labels);
    this.#dispatch();
  }

  /** Adds the key after `ms`. If two delays are pending, the shorter one counts. */
  addAfter(key: Key, ms: number): void {
    if (this.#stopping.signal.aborted) return;
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const dueAt = this.#clock.now() + ms;
    const pending = this.#delayed.get(key);
    if (pending !== undefined && pending.dueAt <= dueAt) return;
    this.#cancelDelay(key);
    // Above 2^31 - 1 ms, setTimeout fires immediately.
    const timer = setTimeout(() => this.add(key), Math.min(ms, 2_147_483_647));
    this.#delayed.set(key, { dueAt, timer });
  }

  /** Accepts no more work, drops waiting keys, and resolves when the running reconciliations have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new DOMException('the work queue is stopping', 'AbortError'));
    for (const key of [...this.#delayed.keys()]) this.#cancelDelay(key);
    this.#waiting.clear();
    this.#lines.clear();
    this.#again.clear();
    await Promise.all(this.#workers);
    this.#metrics?.queues.delete(this.#probe);
  }

  #cancelDelay(key: Key): void {
    clearTimeout(this.#delayed.get(key)?.timer);
    this.#delayed.delete(key);
  }

  #wait(key: Key): void {
    this.#waiting.set(key, this.#clock.now());
    const { namespace = NO_NAMESPACE } = this.#options.about?.(key) ?? {};
    const line = this.#lines.get(namespace);
    if (line === undefined) this.#lines.set(namespace, new Set([key]));
    else line.add(key);
  }

  #dispatch(): void {
    while (this.#running.size < this.#concurrency && this.#lines.size > 0 && !this.#yields()) {
      const namespace = this.#nextNamespace();
      if (namespace === undefined) return;
      this.#begin(namespace);
    }
  }

  /** Returns whether the next key waits for the next turn of the event loop. */
  #yields(): boolean {
    if (this.#isYielding) return true;
    const now = performance.now();
    if (this.#turnStartedAt === undefined) {
      this.#turnStartedAt = now;
      setImmediate(() => (this.#turnStartedAt = undefined));
    }
    if (now - this.#turnStartedAt < TURN_MS) return false;
    this.#isYielding = true;
    setImmediate(() => {
      this.#isYielding = false;
      this.#dispatch();
    });
    return true;
  }

  #nextNamespace(): string | undefined {
    for (const namespace of this.#lines.keys())
      if (namespace === NO_NAMESPACE || this.#shares.take(namespace)) return namespace;
    return undefined;
  }

  /** Runs the first key of a namespace, which then has its next turn after the other namespaces. */
  #begin(namespace: string): void {
    const line = this.#lines.get(namespace);
    const [key] = line ?? [];
    if (line === undefined || key === undefined) throw new Error(`no key of the namespace ${namespace} waits`);
    line.delete(key);
    this.#lines.delete(namespace);
    if (line.size > 0) this.#lines.set(namespace, line);
    const startedAt = this.#clock.now();
    const since = this.#waiting.get(key) ?? startedAt;
    this.#waiting.delete(key);
    this.#running.set(key, startedAt);
    this.#metrics?.waited.observe(this.#labels, (startedAt - since) / 1_000);
    this.#metrics?.active.inc({ controller: this.#options.name });
    const worker = this.#work(key, namespace, startedAt).finally(() => this.#workers.delete(worker));
    this.#workers.add(worker);
  }

  async #work(key: Key, namespace: string, startedAt: number): Promise<void> {
    const controller = this.#options.name;
    let result: string;
    try {
      const outcome = await this.#options.reconcile(key, this.#stopping.signal);
      this.#failures.delete(key);
      result = outcome?.requeueAfterMs === undefined ? 'success' : 'requeue_after';
      if (outcome?.requeueAfterMs !== undefined) this.addAfter(key, outcome.requeueAfterMs);
    } catch (error) {
      result = 'error';
      this.#failed(key, error);
    }
    const seconds = (this.#clock.now() - startedAt) / 1_000;
    this.#metrics?.reconciles.inc({ controller, result });
    this.#metrics?.reconcileSeconds.observe({ controller }, seconds);
    this.#metrics?.worked.observe(this.#labels, seconds);
    this.#metrics?.active.dec({ controller });
    this.#running.delete(key);
    if (namespace !== NO_NAMESPACE) this.#shares.free(namespace);
    if (this.#again.delete(key) && !this.#stopping.signal.aborted) {
      this.#cancelDelay(key);
      this.#wait(key);
    }
    this.#dispatch();
  }

  #failed(key: Key, error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    const { name: controller, logger, about, backoff = BACKOFF_DEFAULT } = this.#options;
    this.#metrics?.errors.inc({ controller });
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const delayMs = exponentialMs(failures, backoff);
    this.#metrics?.retries.inc(this.#labels);
    const fields = { controller, key, ...about?.(key), failures: failures + 1, retryInMs: delayMs, err: error };
    logger.warn(fields, 'reconciliation failed');
    this.addAfter(key, delayMs);
  }
}
