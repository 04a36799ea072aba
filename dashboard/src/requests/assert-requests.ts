import { setTimeout as delay } from 'node:timers/promises';
import { parseInstant } from '@standin/contract';
import type { LogSummary } from '@standin/exchange';
import { nearMisses, type NearMiss } from '@standin/exchange/near-misses';
import type { Condition, Filter, parseFilter } from '@standin/exchange/search';
import type { CountFilter, LogCursor } from '@standin/logstore';
import type { OfProject, ProjectLog } from '../backend.ts';
import { readUntil } from './read-until.ts';
import { deliverRecent } from './recent-requests.ts';
import { isBehind } from './wait-for-requests.ts';

export const ASSERT_LIMITS = {
  expectationsMax: 20,
  /** Terms in all searches together, which one query has if nothing else may have been received. */
  termsMax: 100,
  /** Matching requests that a result names. */
  requestsMax: 20,
  /** The newest requests of the window, among which the nearest are found. */
  examinedMax: 50,
  nearestMax: 3,
  /** Failures that are explained by their nearest requests. */
  explainedMax: 5,
  /** The bytes of each body that are compared, as much as may be read without a worker. */
  bodyBytesMax: 8 * 1024,
} as const;

type ParsedSearch = Extract<ReturnType<typeof parseFilter>, { kind: 'parsed' }>;

export interface Expectation {
  readonly q: string;
  readonly search: ParsedSearch;
  readonly min: number;
  /** Undefined if any number is enough. */
  readonly max: number | undefined;
}

export interface AssertOptions {
  readonly expectations: readonly Expectation[];
  readonly inOrder: boolean;
  readonly nothingElse: boolean;
  readonly window: Pick<OfProject<CountFilter>, 'sinceUs' | 'untilUs' | 'after'>;
  readonly timeoutMs: number;
  /** Resolves when the log has everything that was accepted before the call. Undefined to decide by what is in the log. */
  readonly settle: (() => Promise<void>) | undefined;
}

/** How many requests match, and the first of them. */
export interface Found {
  readonly count: number;
  readonly requests: readonly LogSummary[];
}

export type Failure =
  | { readonly kind: 'count'; readonly index: number; readonly found: Found; readonly nearest: readonly NearMiss[] }
  /** No request that matches was received after `after`, which is the first match of the expectation before, in this order. */
  | { readonly kind: 'order'; readonly index: number; readonly found: Found; readonly after: LogCursor }
  | { readonly kind: 'else'; readonly found: Found };

export interface Assertion {
  /** In the order of the expectations. */
  readonly found: readonly Found[];
  /** Empty if the assertion holds. */
  readonly failures: readonly Failure[];
}

/**
 * Resolves as soon as the assertion holds, if later requests cannot change that. An assertion with a maximum, or with `nothingElse`, is
 * decided at the timeout, and so is one that does not hold until then. Rejects like `ProjectLog`.
 */
export const assertRequests = async (
  log: ProjectLog,
  options: AssertOptions,
  signal: AbortSignal,
): Promise<Assertion> => {
  const { expectations, inOrder, nothingElse } = options;
  // In an order, later matches of an expectation that needs none may be out of place.
  const isOpen = nothingElse || expectations.some(({ min, max }) => max !== undefined || (inOrder && min === 0));
  if (isOpen) await delay(options.timeoutMs, undefined, { signal });
  else {
    const over = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
    const searches = expectations.map(({ search }) => search.filter);
    const holds = ({ failures }: Assertion): boolean => failures.length === 0;
    const read = async (): Promise<Assertion> => {
      await deliverRecent(log, searches, signal);
      return check(log, options);
    };
    const assertion = await readUntil(log, read, holds, over);
    if (holds(assertion)) return assertion;
    signal.throwIfAborted();
  }
  await options.settle?.();
  return explain(log, options, await check(log, options));
};

/** Counts and compares, without the nearest requests. */
const check = async (log: ProjectLog, options: AssertOptions): Promise<Assertion> => {
  const { expectations, inOrder, nothingElse, window } = options;
  const found: Found[] = [];
  const failures: Failure[] = [];
  for (const [index, { search, min, max }] of expectations.entries()) {
    const matching = await find(log, { ...window, search: search.filter });
    found.push(matching);
    if (matching.count < min || matching.count > (max ?? Infinity))
      failures.push({ kind: 'count', index, found: matching, nearest: [] });
  }
  if (inOrder && failures.length === 0) {
    const failure = await checkOrder(log, options, found);
    if (failure !== undefined) failures.push(failure);
  }
  if (nothingElse) {
    const others = noneFilter(expectations.map(({ search }) => search.filter));
    const rest = others === undefined ? NOTHING : await find(log, { ...window, search: others });
    if (rest.count > 0) failures.push({ kind: 'else', found: rest });
  }
  return { found, failures };
};

const NOTHING: Found = { count: 0, requests: [] };

const find = async (log: ProjectLog, filter: OfProject<CountFilter>): Promise<Found> => {
  const limit = ASSERT_LIMITS.requestsMax + 1;
  const first = await log.summaries({ ...filter, order: 'oldest-first', limit });
  const count = first.length < limit ? first.length : await log.count(filter);
  return { count, requests: first.slice(0, ASSERT_LIMITS.requestsMax) };
};

/**
 * Finds one request for each expectation, each received after the one before. The first possible one is always chosen, so that as many
 * as possible remain for the next. Expectations of no request have no place in the order.
 */
const checkOrder = async (
  log: ProjectLog,
  { expectations, window }: AssertOptions,
  found: readonly Found[],
): Promise<Failure | undefined> => {
  let { after } = window;
  for (const [index, { search, max }] of expectations.entries()) {
    if (max === 0) continue;
    const filter = { ...window, after, search: search.filter, order: 'oldest-first', limit: 1 } as const;
    const [first] = await log.summaries(filter);
    const matching = found[index] ?? NOTHING;
    if (first === undefined) {
      // Without a minimum, there may be no match at all.
      if (matching.count === 0) continue;
      return after === undefined ? undefined : { kind: 'order', index, found: matching, after };
    }
    after = first;
  }
  return undefined;
};

/** Returns the search for requests that no search matches, or undefined if one matches everything. */
const noneFilter = (filters: readonly Filter[]): Filter | undefined => {
  const conditions: Condition[] = [];
  for (const filter of filters) {
    if (filter.kind === 'everything') return undefined;
    conditions.push({ kind: 'not', condition: filter });
  }
  const [first, ...more] = conditions;
  return first === undefined ? { kind: 'everything' } : { kind: 'and', conditions: [first, ...more] };
};

/** Adds the nearest requests to counts that are too small. */
const explain = async (
  log: ProjectLog,
  { expectations, window }: AssertOptions,
  { found, failures }: Assertion,
): Promise<Assertion> => {
  const isTooFew = (failure: Failure): boolean =>
    failure.kind === 'count' && failure.found.count < (expectations[failure.index]?.min ?? 0);
  if (!failures.some(isTooFew)) return { found, failures };
  const { after, sinceUs = 0, untilUs } = window;
  const since = Math.max(sinceUs, after === undefined ? 0 : (parseInstant(after.receivedAt) ?? 0));
  const newest = await log.summaries({ sinceUs: since, untilUs, limit: ASSERT_LIMITS.examinedMax });
  const inWindow = newest.filter((summary) => after === undefined || isBehind(summary, after));
  const examined = await log.previews(inWindow, ASSERT_LIMITS.bodyBytesMax);
  const explained: Failure[] = [];
  for (const [at, failure] of failures.entries()) {
    const search = failure.kind === 'count' ? expectations[failure.index]?.search : undefined;
    if (failure.kind !== 'count' || search === undefined || !isTooFew(failure) || at >= ASSERT_LIMITS.explainedMax) {
      explained.push(failure);
      continue;
    }
    // What was read of a request may not show that it matches.
    const matching = new Set(failure.found.requests.map(({ id }) => id));
    const others = examined.filter(({ entry }) => !matching.has(entry.id));
    explained.push({ ...failure, nearest: await nearMisses(search, others, ASSERT_LIMITS.nearestMax) });
  }
  return { found, failures: explained };
};
