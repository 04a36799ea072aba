import { FairQueue } from '@standin/contract';
import { LOG_CONNECTIONS_MAX, LogStoreError, type LogStore } from '@standin/logstore';
import type { ProjectLog } from '../backend.ts';

/** What the pages and programs of a user read from the log. */
export type LogReads = Pick<LogStore, 'requestsByHour' | 'usage' | Exclude<keyof ProjectLog, 'projectUid'>>;

/** Maximum number of running and waiting queries. */
const CALLS_MAX = 1_000;
/** As long as a query may take. */
const WAIT_MS = 30_000;

/**
 * Creates a function that limits the queries of each user, because all users share the connections to ClickHouse. One user can have half
 * of them. Reads that wait too long reject with `LogStoreError`. `follow` is not limited, because readers share its queries.
 */
export const fairReads = (store: LogReads): ((findHolder: () => Promise<string>) => LogReads) => {
  const queue = new FairQueue({
    runningMax: LOG_CONNECTIONS_MAX,
    callsMax: CALLS_MAX,
    waitMs: WAIT_MS,
    refusal: () => new LogStoreError('too many queries are running', { kind: 'retryable', code: 'EBUSY' }),
  });
  return (findHolder) => {
    const inTurn = async <T>(query: () => Promise<T>): Promise<T> => queue.run(await findHolder(), query);
    const { replays } = store;
    return {
      summaries: (filter) => inTurn(() => store.summaries(filter)),
      follow: (options) => store.follow(options),
      entries: (summaries) => stepwise(store.entries(summaries), inTurn),
      get: (id) => inTurn(() => store.get(id)),
      row: (id) => inTurn(() => store.row(id)),
      preview: (id, bodyBytesMax) => inTurn(() => store.preview(id, bodyBytesMax)),
      requestBodies: (keys, bodyBytesMax) => inTurn(() => store.requestBodies(keys, bodyBytesMax)),
      count: (filter) => inTurn(() => store.count(filter)),
      histogram: (filter, range) => inTurn(() => store.histogram(filter, range)),
      distinct: (field, filter, options) => inTurn(() => store.distinct(field, filter, options)),
      requestsByHour: (projects, hours) => inTurn(() => store.requestsByHour(projects, hours)),
      usage: (account, range) => inTurn(() => store.usage(account, range)),
      replays: {
        ...replays,
        exchange: (key) => inTurn(() => replays.exchange(key)),
        results: (filter) => inTurn(() => replays.results(filter)),
        ofRequest: (request, limit) => inTurn(() => replays.ofRequest(request, limit)),
        counts: (key) => inTurn(() => replays.counts(key)),
      },
    };
  };
};

/** Reads each item in its own turn, so that a slow client takes no connection while it receives items. */
const stepwise = async function* <T>(
  items: AsyncIterable<T>,
  inTurn: (next: () => Promise<IteratorResult<T, unknown>>) => Promise<IteratorResult<T, unknown>>,
): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  const next = () => inTurn(() => iterator.next());
  try {
    for (let step = await next(); step.done !== true; step = await next()) yield step.value;
  } finally {
    await iterator.return?.();
  }
};
