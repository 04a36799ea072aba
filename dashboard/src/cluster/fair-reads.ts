import { FairQueue, SourceError } from '@standin/contract';
import { LOG_CONNECTIONS_MAX, LogStoreError, type LogStore } from '@standin/logstore';
import type { ProjectLog } from '../backend.ts';
import { namespaceHolder } from '../holders.ts';
import type { Pools } from '../pools.ts';
import type { LinkedRequests } from '../shares/public-shares.ts';
import type { ClusterUser } from './cluster-user.ts';

/** What the pages, programs and links of a user read from the log. */
export type LogReads = Pick<LogStore, 'requestsByHour' | 'usage' | 'version' | (keyof ProjectLog & keyof LogStore)>;

/** Maximum number of running and waiting queries. */
const CALLS_MAX = 1_000;
/** As long as a query may take. */
const WAIT_MS = 30_000;

const busy = (message: string): LogStoreError => new LogStoreError(message, { kind: 'retryable', code: 'EBUSY' });

/**
 * Creates a function that limits the queries of each user, because all users share the connections to ClickHouse. One user can have half
 * of them. A query that waits is dropped if its user leaves. Reads that wait too long, or for whose result the user has no memory left,
 * reject with `LogStoreError`. The polls of `follow` wait for their turn, too.
 */
export const fairReads = (
  store: LogReads,
  pools?: Pools,
): ((user: Pick<ClusterUser, 'findHolder' | 'signal' | 'hold'>) => LogReads) => {
  const queue = new FairQueue({
    runningMax: LOG_CONNECTIONS_MAX,
    callsMax: CALLS_MAX,
    waitMs: WAIT_MS,
    refusal: () => busy('too many queries are running'),
  });
  pools?.set('log_connections', queue.running).set('log_queries', queue.calls);
  return (user) => {
    const inTurn = async <T>(query: () => Promise<T>): Promise<T> =>
      queue.run(await user.findHolder(), query, user.signal);
    /** Counts the memory of a result until the response is encoded. */
    const held = async <T>(query: () => Promise<T>): Promise<T> => {
      const result = await inTurn(query);
      await holdFor(user, result);
      return result;
    };
    let releasePage: (() => void) | undefined;
    /**
     * Counts the memory of a page until the next page is read, because a request reads any number of them. A tail, which reads by the
     * time of insertion, passes the rows of a page on and keeps none while it waits for the next insert.
     */
    const summaries: LogReads['summaries'] = async (filter) => {
      const page = await inTurn(() => store.summaries(filter));
      if (filter.insertedSince !== undefined || filter.insertedAt !== undefined) return page;
      const releaseLast = filter.after === undefined ? undefined : releasePage;
      releasePage = await holdFor(user, page);
      releaseLast?.();
      return page;
    };
    const { replays } = store;
    return {
      summaries,
      follow: (options) =>
        store.follow({
          ...options,
          inTurn: async (poll, signal) => queue.run(await user.findHolder(), poll, signal),
        }),
      entries: (summaries) => stepwise(store.entries(summaries), { user, inTurn }),
      get: (id) => held(() => store.get(id)),
      row: (id) => held(() => store.row(id)),
      version: (id) => inTurn(() => store.version(id)),
      preview: (id, bodyBytesMax) => held(() => store.preview(id, bodyBytesMax)),
      previews: (wanted, bodyBytesMax) => held(() => store.previews(wanted, bodyBytesMax)),
      requestBodies: (keys, bodyBytesMax) => held(() => store.requestBodies(keys, bodyBytesMax)),
      count: (filter) => inTurn(() => store.count(filter)),
      histogram: (filter, range) => inTurn(() => store.histogram(filter, range)),
      distinct: (field, filter, options) => inTurn(() => store.distinct(field, filter, options)),
      requestsByHour: (projects, hours) => inTurn(() => store.requestsByHour(projects, hours)),
      usage: (account, range) => inTurn(() => store.usage(account, range)),
      replays: {
        ...replays,
        exchange: (key) => held(() => replays.exchange(key)),
        results: (filter) => inTurn(() => replays.results(filter)),
        ofRequest: (request, limit) => inTurn(() => replays.ofRequest(request, limit)),
        counts: (key) => inTurn(() => replays.counts(key)),
      },
    };
  };
};

/** Reads the requests of links in the turns of their namespaces. `ShareCache` limits the memory. */
export const fairLinks = (readsFor: ReturnType<typeof fairReads>): LinkedRequests => {
  const { signal } = new AbortController();
  const readsOfNamespace = (namespace: string): LogReads =>
    readsFor({
      findHolder: () => Promise.resolve(namespaceHolder(namespace)),
      hold: () => Promise.resolve(() => undefined),
      signal,
    });
  return {
    row: (id, namespace) => readsOfNamespace(namespace).row(id),
    version: (id, namespace) => readsOfNamespace(namespace).version(id),
  };
};

/** Readers of the log handle only its own errors. */
const holdFor = async (user: Pick<ClusterUser, 'hold'>, result: unknown): Promise<() => void> => {
  try {
    return await user.hold('captured requests', sizeOfText(result));
  } catch (error) {
    throw error instanceof SourceError ? busy(error.message) : error;
  }
};

const sizeOfText = (value: unknown): number => {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (value instanceof Map) return sizeOfText([...value.values()]);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, part) => sum + sizeOfText(part), 0);
};

interface Steps<T> {
  readonly user: Pick<ClusterUser, 'hold'>;
  readonly inTurn: (next: () => Promise<IteratorResult<T, unknown>>) => Promise<IteratorResult<T, unknown>>;
}

/**
 * Reads each item in its own turn, so that a slow client takes no connection while it receives items. The memory of an item counts until
 * the client has received it.
 */
const stepwise = async function* <T>(items: AsyncIterable<T>, { user, inTurn }: Steps<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  const next = () => inTurn(() => iterator.next());
  try {
    for (let step = await next(); step.done !== true; step = await next()) {
      const release = await holdFor(user, step.value);
      yield step.value;
      release();
    }
  } finally {
    await iterator.return?.();
  }
};
