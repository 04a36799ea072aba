import { LIMITS, phraseListText, type ResourceObject } from '@standin/contract';
import { WorkQueue, type ReconcileResult } from '@standin/kube';
import { LogStoreError, type EachCount, type LogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Settlement } from '../gateways/settlement.ts';
import { parentName } from '../object-cache.ts';
import { decide } from './decide.ts';
import { deletedBy } from './deleted-by.ts';
import type { Outcome } from './expectation-report.ts';
import { findNearMisses } from './find-near-misses.ts';
import type { ReadyExpectation } from './plan-expectation.ts';

export interface OpenExpectationsOptions {
  readonly store: Pick<LogStore, 'countEach' | 'lastRequests' | 'summaries' | 'preview'>;
  /** Resolves when the store's tables exist. */
  readonly prepareStore: () => Promise<void>;
  readonly settlement: Settlement;
  /** Returns why the log may never have some of the matching requests, as a sentence, or undefined if it has all. */
  readonly lost: (expectation: ReadyExpectation) => string | undefined;
  /** Called when `get` returns something new, and when a namespace has a place for an Expectation. */
  readonly onChange: (uid: string) => void;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock: () => number;
}

export interface OpenExpectation extends ReadyExpectation {
  /** Undefined while the Expectation is open. */
  readonly outcome: Outcome | { readonly kind: 'undetermined'; readonly message: string } | undefined;
  /** What prevents a count, or a decision after the deadline, as a sentence. */
  readonly obstacle: string | undefined;
  /** When this leader began to count. In milliseconds since the epoch. */
  readonly trackedAtMs: number;
}

interface Tracked extends ReadyExpectation {
  readonly uid: string;
  readonly trackedAtMs: number;
  outcome: OpenExpectation['outcome'];
  /** What prevents a count. */
  countProblem: string | undefined;
  /** Why the log may not have every request of the time range. */
  settleProblem: string | undefined;
  /** See `OpenExpectationsOptions.lost`, from a Purge that was removed. */
  lost: string | undefined;
  /** Whether every request of the time range is in the log. */
  isSettled: boolean;
  /** Whether it was counted since then. */
  isCounted: boolean;
  /** Whether the log may have changed since the last count. */
  isDirty: boolean;
  /** When the last count began. In milliseconds of `performance.now()`, as `retryAt`. */
  countedAt: number;
  /** Not counted before this time, because the last count failed. */
  retryAt: number;
  /** The size of the next query. Halved after each failure, so that a search that ClickHouse refuses is soon alone. */
  batchMax: number;
}

/** How often the log is asked which projects have new requests: one question for all Expectations. */
const NEWS_MS = 1_000;
/** Rows that a question misses are found by the next one, which looks back to this long before the previous one. */
const NEWS_OVERLAP_MS = 3_000;
/** The only key in the queue of these questions. */
const NEWS = 'news';

/** The number of namespaces whose requests are counted at the same time. Each has one query at a time. */
const COUNTS_MAX = 4;
/** Expectations of a namespace in one query, and characters of their searches, because a query has a maximum length. */
const BATCH_MAX = 32;
const BATCH_SEARCH_LENGTH_MAX = 2_000;
/** Expectations that must be counted within this time are counted together. */
const GATHER_MS = 20;
const FAILED_COUNT_MS = 2_000;
const SLOW_COUNT_MS = 10_000;
/** A namespace is slow after a query that took longer than this, for a multiple of the query's time. */
const SLOW_QUERY_MS = 1_000;
const SLOW_FACTOR = 60;
/** The slow namespaces have one share of the queries together, so that a few of them do not hold up all others. */
const SLOW_NAMESPACES = 'slow namespaces';

/** The number of projects for which the gateways are asked at the same time. */
const SETTLES_MAX = 32;
/** The first interval between questions to the gateways. Each further one is twice as long, up to the longest. */
const SETTLE_MS_MIN = 250;
const SETTLE_MS_MAX = 1_000;
const REASONS_NAMED_MAX = 3;

/**
 * Counts the requests of open Expectations, for one leader's term.
 * - A query each second asks which projects have new requests. Only their Expectations are counted, many of a namespace in one query.
 * - After the deadline, it waits until every gateway has delivered all requests of the time range, and counts once more.
 */
export class OpenExpectations {
  readonly #options: OpenExpectationsOptions;
  readonly #tracked = new Map<string, Tracked>();
  readonly #byNamespace = new Map<string, Set<Tracked>>();
  readonly #byProject = new Map<string, Set<Tracked>>();
  /** The uids of Expectations for which their namespace has no place, by namespace. */
  readonly #waiting = new Map<string, Set<string>>();
  /** Until when a namespace pauses after its last query, in milliseconds of `performance.now()`. */
  readonly #pausedUntil = new Map<string, number>();
  /** Until when a namespace is slow, in milliseconds of `performance.now()`. */
  readonly #slowUntil = new Map<string, number>();
  /** How often the gateways were asked for a project since its last deadline. */
  readonly #asks = new Map<string, number>();
  /** When the last successful question for news began, in milliseconds of `performance.now()`. */
  #newsAt = performance.now();
  readonly #news: WorkQueue;
  readonly #counts: WorkQueue;
  readonly #settles: WorkQueue;

  constructor(options: OpenExpectationsOptions) {
    this.#options = options;
    const { registry } = options;
    const logger = options.logger.child({ stage: 'expectations' });
    this.#news = new WorkQueue({
      name: 'expectation-news',
      backoff: { baseMs: NEWS_MS, capMs: 3 * NEWS_MS },
      registry,
      logger,
      reconcile: () => this.#readNews(),
    });
    this.#counts = new WorkQueue({
      name: 'expectation-counts',
      concurrency: COUNTS_MAX,
      backoff: { baseMs: FAILED_COUNT_MS, capMs: FAILED_COUNT_MS },
      registry,
      logger,
      about: (namespace) => ({ namespace: this.#isSlow(namespace) ? SLOW_NAMESPACES : namespace }),
      reconcile: (namespace) => this.#count(namespace),
    });
    this.#settles = new WorkQueue({
      name: 'expectation-settlements',
      concurrency: SETTLES_MAX,
      backoff: { baseMs: SETTLE_MS_MIN, capMs: SETTLE_MS_MAX },
      registry,
      logger,
      about: (projectUid) => {
        const [first] = this.#byProject.get(projectUid) ?? [];
        return first === undefined ? {} : { namespace: first.filter.namespace };
      },
      reconcile: (projectUid, signal) => this.#settle(projectUid, signal),
    });
  }

  get size(): number {
    return this.#tracked.size;
  }

  get(uid: string): OpenExpectation | undefined {
    const tracked = this.#tracked.get(uid);
    return tracked && { ...tracked, obstacle: tracked.countProblem ?? tracked.settleProblem };
  }

  /** Begins to count. Returns false if the namespace has no place. */
  track(uid: string, expectation: ReadyExpectation): boolean {
    const { namespace, projectUid } = expectation.filter;
    if (!this.#hasPlace(namespace)) {
      put(this.#waiting, namespace, uid);
      return false;
    }
    const tracked: Tracked = {
      ...expectation,
      uid,
      trackedAtMs: this.#options.clock(),
      outcome: undefined,
      countProblem: undefined,
      settleProblem: undefined,
      lost: undefined,
      isSettled: false,
      isCounted: false,
      isDirty: true,
      countedAt: -Infinity,
      retryAt: -Infinity,
      batchMax: BATCH_MAX,
    };
    this.#tracked.set(uid, tracked);
    if (this.#tracked.size === 1) {
      this.#newsAt = performance.now();
      this.#news.add(NEWS);
    }
    put(this.#byNamespace, namespace, tracked);
    put(this.#byProject, projectUid, tracked);
    this.#counts.addAfter(namespace, GATHER_MS);
    return true;
  }

  /** Gives the place of the Expectation, or the one that it waits for, to the next one. */
  forget(uid: string, namespace: string): void {
    take(this.#waiting, namespace, uid);
    const tracked = this.#tracked.get(uid);
    if (tracked !== undefined) this.#untrack(tracked);
    const [next] = this.#waiting.get(namespace) ?? [];
    if (next === undefined || !this.#hasPlace(namespace)) return;
    take(this.#waiting, namespace, next);
    this.#options.onChange(next);
  }

  #hasPlace(namespace: string): boolean {
    return (this.#byNamespace.get(namespace)?.size ?? 0) < LIMITS.expectationsOpenPerNamespaceMax;
  }

  #untrack(tracked: Tracked): void {
    const { namespace, projectUid } = tracked.filter;
    this.#tracked.delete(tracked.uid);
    if (take(this.#byNamespace, namespace, tracked)) {
      this.#pausedUntil.delete(namespace);
      this.#slowUntil.delete(namespace);
    }
    if (take(this.#byProject, projectUid, tracked)) this.#asks.delete(projectUid);
  }

  /** Waits until all requests of the time range are in the log. Called after the deadline. */
  settle(uid: string): void {
    const tracked = this.#tracked.get(uid);
    if (tracked === undefined || tracked.isSettled) return;
    this.#asks.delete(tracked.filter.projectUid);
    this.#settles.add(tracked.filter.projectUid);
  }

  /** Remembers what a Purge has deleted, when its object is removed. */
  purgeRemoved(purge: ResourceObject): void {
    const { namespace } = purge.metadata;
    for (const tracked of this.#byNamespace.get(namespace) ?? [])
      if (parentName(purge) === tracked.filter.project) tracked.lost ??= deletedBy([purge], tracked.range);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#news.stop(), this.#counts.stop(), this.#settles.stop()]);
  }

  async #readNews(): Promise<ReconcileResult | undefined> {
    if (this.#tracked.size === 0) return undefined;
    const { store, prepareStore } = this.#options;
    await prepareStore();
    const now = performance.now();
    const found = await store.lastRequests(Math.ceil(now - this.#newsAt) + NEWS_OVERLAP_MS);
    this.#newsAt = now;
    for (const { uid } of found) for (const tracked of this.#byProject.get(uid) ?? []) this.#recount(tracked);
    return { requeueAfterMs: NEWS_MS };
  }

  #recount(tracked: Tracked): void {
    tracked.isDirty = true;
    this.#counts.addAfter(tracked.filter.namespace, GATHER_MS);
  }

  async #settle(projectUid: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const nowUs = this.#options.clock() * 1_000;
    const late = [...(this.#byProject.get(projectUid) ?? [])].filter(
      ({ isSettled, range }) => !isSettled && range.untilUs <= nowUs,
    );
    const [first] = late;
    if (first === undefined) return undefined;
    const { namespace } = first.filter;
    const settled = await this.#options.settlement.settle({ uid: projectUid, namespace }, signal);
    for (const tracked of late) {
      if (!settled.settled) this.#report(tracked, { settleProblem: unsettledText(settled.reasons) });
      else if (tracked.range.untilUs <= settled.untilUs) {
        tracked.isSettled = true;
        tracked.settleProblem = undefined;
        this.#pausedUntil.delete(namespace);
        this.#recount(tracked);
      }
    }
    if (late.every(({ isSettled }) => isSettled)) return undefined;
    const asks = this.#asks.get(projectUid) ?? 0;
    this.#asks.set(projectUid, asks + 1);
    return { requeueAfterMs: Math.min(SETTLE_MS_MIN * 2 ** asks, SETTLE_MS_MAX) };
  }

  async #count(namespace: string): Promise<ReconcileResult | undefined> {
    const startedAt = performance.now();
    const leftMs = (this.#pausedUntil.get(namespace) ?? startedAt) - startedAt;
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const batch = this.#nextBatch(namespace, startedAt);
    if (batch.length > 0) await this.#countBatch(batch, startedAt);
    const now = performance.now();
    const tookMs = now - startedAt;
    if (tookMs > SLOW_QUERY_MS && this.#byNamespace.has(namespace))
      this.#slowUntil.set(namespace, now + SLOW_FACTOR * tookMs);
    const dirty = this.#countable(namespace);
    if (dirty.length === 0) return undefined;
    // The namespace pauses for as long as the query took, so that it uses at most half of a worker. The first count of a complete log
    // does not wait, because it decides, unless it has failed.
    const decides = dirty.some(({ isSettled, isCounted, retryAt }) => isSettled && !isCounted && retryAt === -Infinity);
    const pauseMs = decides ? 0 : tookMs;
    this.#pausedUntil.set(namespace, now + pauseMs);
    const retryAt = Math.min(...dirty.map((tracked) => tracked.retryAt));
    return { requeueAfterMs: Math.max(1, pauseMs, retryAt - now) };
  }

  #isSlow(namespace: string): boolean {
    return (this.#slowUntil.get(namespace) ?? -Infinity) > performance.now();
  }

  #countable(namespace: string): readonly Tracked[] {
    return [...(this.#byNamespace.get(namespace) ?? [])].filter(
      ({ isDirty, outcome }) => isDirty && outcome === undefined,
    );
  }

  /** Begins with those whose requests are all in the log, then with those that were not counted for the longest time. */
  #nextBatch(namespace: string, now: number): readonly Tracked[] {
    const due = this.#countable(namespace)
      .filter(({ retryAt }) => retryAt <= now)
      .sort((a, b) => Number(b.isSettled) - Number(a.isSettled) || a.countedAt - b.countedAt);
    const batch: Tracked[] = [];
    let [sizeMax, length] = [BATCH_MAX, 0];
    for (const tracked of due) {
      sizeMax = Math.min(sizeMax, tracked.batchMax);
      length += tracked.searchLength;
      const hasRoom = batch.length < sizeMax && length <= BATCH_SEARCH_LENGTH_MAX;
      if (batch.length > 0 && !hasRoom) break;
      batch.push(tracked);
    }
    return batch;
  }

  async #countBatch(batch: readonly Tracked[], startedAt: number): Promise<void> {
    const { store, prepareStore } = this.#options;
    // What was settled before the count is in the count.
    const settled = new Set(batch.filter(({ isSettled }) => isSettled));
    for (const tracked of batch) Object.assign(tracked, { isDirty: false, countedAt: startedAt });
    try {
      await prepareStore();
      const filters = batch.map(({ filter }) => filter);
      const counts = await store.countEach(filters, LIMITS.expectationRequestIdsMax);
      const missing: Missing[] = [];
      for (const [index, tracked] of batch.entries()) {
        const count = counts[index];
        tracked.batchMax = BATCH_MAX;
        tracked.isCounted = settled.has(tracked);
        if (count !== undefined) missing.push(...this.#judge(tracked, count, settled.has(tracked)));
      }
      const byProject = Map.groupBy(missing, ({ tracked }) => tracked.filter.projectUid);
      await Promise.all([...byProject.values()].map((ofProject) => this.#explain(ofProject)));
    } catch (error) {
      for (const tracked of batch) tracked.isDirty = true;
      if (!(error instanceof LogStoreError)) throw error;
      this.#countFailed(batch, error);
    }
  }

  #countFailed(batch: readonly Tracked[], error: LogStoreError): void {
    const isRefused = /^\d+$/.test(error.code);
    if (isRefused && batch.length > 1) {
      for (const tracked of batch) tracked.batchMax = Math.floor(batch.length / 2);
      return;
    }
    const retryAt = performance.now() + (error.isTooSlow ? SLOW_COUNT_MS : FAILED_COUNT_MS);
    const advice = error.isTooSlow ? ' The search takes too long: create an Expectation with a simpler search.' : '';
    for (const tracked of batch) {
      tracked.retryAt = retryAt;
      this.#report(tracked, { countProblem: `${error.message}. The operator tries again.${advice}` });
    }
  }

  /** Ends the Expectation if it can be decided. Returns it if its nearest requests must be found first. */
  #judge(tracked: Tracked, count: EachCount, isComplete: boolean): Missing[] {
    const { kind, matched, needsAll } = decide(tracked.expected, count, isComplete);
    const lost = isComplete && needsAll ? (tracked.lost ?? this.#options.lost(tracked)) : undefined;
    if (lost !== undefined) this.#end(tracked, { kind: 'undetermined', message: lost });
    else if (kind === 'open')
      this.#report(tracked, { countProblem: isComplete ? inProgressText(count.inProgress) : undefined });
    else {
      const outcome: Outcome = { kind, matched, requestIds: count.ids.toSorted(), nearMisses: [] };
      if (matched < tracked.expected.min) return [{ tracked, outcome }];
      this.#end(tracked, outcome);
    }
    return [];
  }

  async #explain(missing: readonly Missing[]): Promise<void> {
    const found = await findNearMisses(
      this.#options.store,
      missing.map(({ tracked }) => tracked),
    );
    for (const [index, { tracked, outcome }] of missing.entries())
      this.#end(tracked, { ...outcome, nearMisses: found[index] ?? [] });
  }

  #report(tracked: Tracked, problem: Partial<Pick<Tracked, 'countProblem' | 'settleProblem'>>): void {
    const { countProblem, settleProblem } = tracked;
    Object.assign(tracked, problem);
    if (tracked.countProblem !== countProblem || tracked.settleProblem !== settleProblem)
      this.#options.onChange(tracked.uid);
  }

  #end(tracked: Tracked, outcome: OpenExpectation['outcome']): void {
    tracked.outcome = outcome;
    this.#options.onChange(tracked.uid);
  }
}

interface Missing {
  readonly tracked: Tracked;
  readonly outcome: Outcome;
}

const put = <T>(sets: Map<string, Set<T>>, key: string, value: T): void => {
  sets.set(key, (sets.get(key) ?? new Set()).add(value));
};

/** Removes a value. Returns whether it was the last one of its key. */
const take = <T>(sets: Map<string, Set<T>>, key: string, value: T): boolean => {
  const set = sets.get(key);
  set?.delete(value);
  return set?.size === 0 && sets.delete(key);
};

const unsettledText = (reasons: readonly string[]): string => {
  const more = reasons.length > REASONS_NAMED_MAX ? [`${reasons.length - REASONS_NAMED_MAX} more`] : [];
  const named = [...reasons.slice(0, REASONS_NAMED_MAX), ...more];
  return `Some requests may not be in the log yet: ${phraseListText(named)}.`;
};

const inProgressText = (count: number): string =>
  `The search reads responses, and ${count === 1 ? '1 request that may match has' : `${count} requests that may match have`} no response yet.`;
