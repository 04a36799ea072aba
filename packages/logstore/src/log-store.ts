import type { ClickHouseSettings } from '@clickhouse/client';
import type { LogRow } from '@standin/contract';
import type { Logger } from 'pino';
import { connectClickHouse } from './clickhouse.ts';
import type { ClickHouse, ClickHouseAddress } from './clickhouse.ts';
import { BODY_TEXT_COLUMNS, LOG_COLUMNS } from './columns.ts';
import { countByHour, findLastRequests, type HourlyCounts, type LastRequest, type LogOwner } from './count-requests.ts';
import { countEach, type EachCount, type EachFilter } from './count-each.ts';
import { countLog, readHistogram } from './count-log.ts';
import type { HistogramBucket, HistogramRange } from './count-log.ts';
import { countPermits, countSpentPermits, type PermitFilter, type SpentPermits } from './count-permits.ts';
import { countUsage, type Usage, type UsageRange } from './count-usage.ts';
import { distinctValues } from './distinct-values.ts';
import type { DistinctField, DistinctOptions } from './distinct-values.ts';
import { createInsertFollower, type FollowOptions, type InsertFeed } from './follow-inserts.ts';
import { insertReplayResults } from './insert-replay-results.ts';
import type { EntryPreview, LogEntry, LogSummary, RowVersion } from '@standin/exchange';
import type { CountFilter, LogFilter } from './log-filter.ts';
import { migrate } from './migrate.ts';
import { countMatching, purgeReplayResults, purgeRequests, type PurgeFilter, type PurgeStep } from './purge.ts';
import { readInserts } from './read-inserts.ts';
import {
  readEntries,
  readEntry,
  readPreview,
  readPreviews,
  readRequestBodies,
  readRow,
  readVersion,
} from './read-log.ts';
import type { BodyStart, RequestKeys } from './read-log.ts';
import { readSummaries } from './read-summaries.ts';
import { serverClock } from './server-clock.ts';
import { readSchemaState, type SchemaState } from './schema-state.ts';
import {
  countReplayResults,
  readReplayedExchange,
  readReplayedIds,
  readReplayResults,
  readReplaySummaries,
} from './replay-results.ts';
import type {
  ReplayedExchange,
  ReplayedRequest,
  ReplayKey,
  ReplayResultsFilter,
  ReplaySummary,
  StatusCount,
} from './replay-results.ts';
import type { ReplayResult } from './replay-results-table.ts';

export interface InsertBatch {
  /** Concatenated results of `encodeRow`. A retry must send exactly the same bytes. */
  readonly rows: Buffer;
  readonly rowCount: number;
  /**
   * The deduplication token. Within the server's window (the last 10,000 batches; in a cluster, only those of the last 7 days), a
   * known token is acknowledged and adds nothing, regardless of the bytes. One token must therefore always belong to one sequence
   * of bytes; a digest of the bytes is a good choice.
   */
  readonly token: string;
  /**
   * The number of `LOG_COLUMNS` in each row, which defaults to all of them. Columns are only appended, so rows from an older
   * gateway have fewer.
   */
  readonly columnCount?: number;
  /** Whether the texts of its bodies follow each row (`putBodyTexts`). */
  readonly hasTexts?: boolean | undefined;
}

/**
 * Access to the log of captured traffic. A call that fails rejects with a `LogStoreError`, or with a `LogFilterError` for an
 * invalid filter.
 */
export interface LogStore {
  /** Creates the database and its tables, or brings them up to date. The call is safe at every start and in parallel. */
  migrate(): Promise<void>;
  /** Compares the tables with those that `migrate` creates. Changes nothing. */
  schema(): Promise<SchemaState>;
  /** Resolves when the rows are on ClickHouse's disk (in a cluster, on a majority of the replicas). */
  insert(batch: InsertBatch): Promise<void>;
  /** Returns the fields of entries for a list, without headers and bodies. */
  summaries(filter: LogFilter): Promise<LogSummary[]>;
  /**
   * Reports which milliseconds of `inserted_at` have new rows, until the feed is closed. Readers of the same project share polls;
   * see `tailSummaries`.
   */
  follow(options: FollowOptions): InsertFeed;
  /**
   * Yields complete entries for summaries, in their order, using limited memory. Leaves out entries that have expired or been
   * purged in the meantime.
   */
  entries(summaries: readonly LogSummary[]): AsyncIterable<LogEntry>;
  /** Returns complete entries, all of them in memory. Use `summaries` and `entries` for long lists. */
  list(filter: LogFilter): Promise<LogEntry[]>;
  /** Returns the number of entries. Rejects with a `LogStoreError` with code 159 after 10 s. */
  count(filter: CountFilter): Promise<number>;
  /**
   * Counts the entries of several filters in one query, in their order, with at most `idsMax` ids for each. Has the same time limit as
   * `count`, which all filters share.
   */
  countEach(filters: readonly EachFilter[], idsMax: number): Promise<EachCount[]>;
  /** Returns the number of entries by time and status class, including empty buckets. Has the same time limit as `count`. */
  histogram(filter: CountFilter, range: HistogramRange): Promise<HistogramBucket[]>;
  /**
   * Returns values of a field for users to choose from, the most frequent first. Includes only values that are found within a
   * second, so rare values of a large log may be missing.
   */
  distinct(field: DistinctField, filter: CountFilter, options: DistinctOptions): Promise<string[]>;
  /** Returns `undefined` if the entry does not exist or has expired. */
  get(id: string): Promise<LogEntry | undefined>;
  /**
   * Works like `get`, but returns the row as stored. The bodies are views of one buffer. The bodies are not decoded, so the call
   * takes little time, and the row can be sent to a worker.
   */
  row(id: string): Promise<LogRow | undefined>;
  /** Returns the version of the row that `get` and `row` read. The call is cheap, because it does not need the bodies. */
  version(id: string): Promise<RowVersion | undefined>;
  /**
   * Works like `get`, but returns no more than this many bytes of each body. A page can therefore show the start of a body of 10
   * MiB as fast as a short body. Adds the same number of bytes of the texts of encoded bodies.
   */
  preview(id: string, bodyBytesMax: number): Promise<EntryPreview | undefined>;
  /** Returns the previews of at most 100 summaries, in their order. Leaves out entries that have expired or been purged. */
  previews(summaries: readonly LogSummary[], bodyBytesMax: number): Promise<EntryPreview[]>;
  /**
   * Returns the beginnings of request bodies or their texts, by id, with at most this many bytes each. Leaves out requests that do not
   * exist or have expired.
   */
  requestBodies(keys: RequestKeys, bodyBytesMax: number): Promise<ReadonlyMap<string, BodyStart>>;
  /** Returns the number of requests per project in each of the last hours, by the project's uid. */
  requestsByHour(projects: readonly LogOwner[], hours: number): Promise<ReadonlyMap<string, HourlyCounts>>;
  /**
   * Returns when each project received its last request in the log. With `insertedWithinMs`, only requests that were inserted
   * within this time count. Has the same time limit as `count`.
   */
  lastRequests(insertedWithinMs?: number): Promise<readonly LastRequest[]>;
  readonly replays: ReplayStore;
  readonly purges: PurgeStore;
  /**
   * Returns an account's requests by day and by endpoint. Counts only requests that are still in the log. Has the same time limit
   * as `count`.
   */
  usage(account: LogOwner, range: UsageRange): Promise<Usage>;
  /**
   * Returns the number of requests that were accepted with permits from each block. Blocks without requests are missing. Has the
   * same time limit as `count`. In a cluster, rejects while a replica is unavailable, because that replica may have rows that the
   * others do not have.
   */
  permits(filter: PermitFilter): Promise<ReadonlyMap<string, number>>;
  /**
   * Returns the number of an account's requests that were accepted with a month's permits (`2026-11`), and the number of these
   * permits. Has the same time limit as `count`.
   */
  spentPermits(accountUid: string, period: string): Promise<SpentPermits>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Stores and reads the results of replays. */
export interface ReplayStore {
  /**
   * Resolves when the results are on ClickHouse's disk. Inserting a result twice is harmless, because only the last one for a request
   * is read. ClickHouse refuses results that reach it later than `remainingMs` after the call of that function, by its own clock.
   * The caller may be frozen in the meantime.
   */
  insert(results: readonly ReplayResult[], remainingMs: () => number): Promise<void>;
  /** Returns the complete result for one request, or `undefined` if there is none yet. */
  exchange(key: ReplayKey & { readonly requestId: string }): Promise<ReplayedExchange | undefined>;
  /** Returns a replay's results in the order of their requests. */
  results(filter: ReplayResultsFilter): Promise<ReplaySummary[]>;
  /** Returns the last result of each replay of one captured request, newest first, up to `limit` results. */
  ofRequest(request: ReplayedRequest, limit: number): Promise<ReplaySummary[]>;
  /** Returns the number of requests per response status. Status 0 means that there was no response. */
  counts(key: ReplayKey): Promise<StatusCount[]>;
  /** Returns the ids of the requests in a replay that have a result and were received at this time or later. */
  ids(key: ReplayKey & { readonly sinceUs: number }): Promise<string[]>;
}

/**
 * Deletes captured data from all replicas. Each call of `requests` or `results` begins the next step of the deletion, unless a step
 * is still running. Callers repeat the call until it returns `done`.
 */
export interface PurgeStore {
  /** Returns the number of matching requests, including expired ones. */
  count(filter: PurgeFilter): Promise<number>;
  /**
   * Deletes matching requests, including expired ones and all copies and versions of each. Must not be called before all requests
   * of the time range are in the log, because the permits of requests that arrive during the call may be lost.
   */
  requests(filter: PurgeFilter): Promise<PurgeStep>;
  /**
   * Deletes the results of replays whose request was received in the time range and is no longer in the log. Must not be called while
   * a replay is sending such a request.
   */
  results(filter: PurgeFilter): Promise<PurgeStep>;
}

export interface LogStoreOptions extends ClickHouseAddress {
  /** See `MigrationTarget`. */
  readonly cluster?: string | undefined;
  readonly logger?: Logger | undefined;
}

/**
 * Returns the settings for an insert. Each insert sends every setting that exactly-once delivery depends on, because server
 * defaults differ by version and profile.
 */
const insertSettings = (cluster: string | undefined): ClickHouseSettings => ({
  async_insert: 0,
  insert_deduplicate: 1,
  // A partition is a day, and a segment that was waiting during a long outage may span many days.
  max_partitions_per_insert_block: '1000',
  ...(cluster !== undefined && {
    distributed_foreground_insert: 1,
    insert_quorum: 'auto',
    insert_quorum_parallel: 1,
  }),
});

/** Overrides `insert_deduplicate` since ClickHouse 26.2. Older servers reject this setting. */
const DEDUPLICATE_INSERT = 'deduplicate_insert';

/** How long the answer to `knowsSetting` is used. */
const SETTINGS_KNOWN_MS = 60_000;

const knowsSetting = async (clickhouse: ClickHouse, name: string): Promise<boolean> => {
  const sql = 'SELECT count() FROM system.settings WHERE name = {name:String} FORMAT TabSeparated';
  const answer = await clickhouse.run('read the settings', { sql, params: { name } });
  return answer.toString('utf8').trim() === '1';
};

/**
 * Opens the log on a ClickHouse server or in the embedded engine (`startEmbeddedEngine`). Sends nothing before the first call. Only
 * `migrate` and `follow` retry by themselves. For all other calls, the caller decides by `LogStoreError.kind` whether to retry.
 */
export const openLogStore = (options: LogStoreOptions): LogStore => {
  const { database, cluster, logger } = options;
  const clickhouse = connectClickHouse(options);
  const clock = serverClock(clickhouse);
  const follower = createInsertFollower({
    read: (filter) => readInserts(clickhouse, filter),
    next: (mark, signal) => clickhouse.nextInsert(mark, signal),
  });

  /** Forgotten after a failed insert, which may be due to a rollback of ClickHouse. An upgrade causes no failure. */
  let known: { readonly settings: ClickHouseSettings; readonly untilMs: number } | undefined;
  const settingsForInserts = async (): Promise<ClickHouseSettings> => {
    if (known !== undefined && performance.now() < known.untilMs) return known.settings;
    const settings = {
      ...insertSettings(cluster),
      ...((await knowsSetting(clickhouse, DEDUPLICATE_INSERT)) && { [DEDUPLICATE_INSERT]: 'enable' }),
    };
    known = { settings, untilMs: performance.now() + SETTINGS_KNOWN_MS };
    return settings;
  };

  return {
    migrate: () => migrate(clickhouse, { database, cluster }, logger),
    schema: () => readSchemaState(clickhouse, { database, cluster }),

    async insert({ rows, rowCount, token, columnCount, hasTexts = false }) {
      if (rowCount === 0) return;
      const columns = [...LOG_COLUMNS.slice(0, columnCount), ...(hasTexts ? BODY_TEXT_COLUMNS : [])];
      const sql = `INSERT INTO log (${columns.join(', ')}) FORMAT RowBinary`;
      const settings = { ...(await settingsForInserts()), insert_deduplication_token: token };
      try {
        await clickhouse.run(`insert ${rowCount} rows`, { sql, settings, body: rows });
      } catch (error) {
        known = undefined;
        throw error;
      }
    },

    summaries: (filter) => readSummaries(clickhouse, filter),
    follow: (wanted) => follower.follow(wanted),
    entries: (wanted) => readEntries(clickhouse, wanted),
    async list(filter) {
      const entries: LogEntry[] = [];
      for await (const entry of readEntries(clickhouse, await readSummaries(clickhouse, filter))) entries.push(entry);
      return entries;
    },

    count: (filter) => countLog(clickhouse, filter),
    countEach: (filters, idsMax) => countEach(clickhouse, filters, idsMax),
    histogram: (filter, range) => readHistogram(clickhouse, filter, range),
    distinct: (field, filter, distinctOptions) => distinctValues(clickhouse, field, filter, distinctOptions),

    get: (id) => readEntry(clickhouse, id),
    row: (id) => readRow(clickhouse, id),
    version: (id) => readVersion(clickhouse, id),
    preview: (id, bodyBytesMax) => readPreview(clickhouse, id, bodyBytesMax),
    previews: (wanted, bodyBytesMax) => readPreviews(clickhouse, wanted, bodyBytesMax),
    requestBodies: (keys, bodyBytesMax) => readRequestBodies(clickhouse, keys, bodyBytesMax),
    requestsByHour: (projects, hours) => countByHour(clickhouse, projects, hours),
    lastRequests: (insertedWithinMs) => findLastRequests(clickhouse, insertedWithinMs),
    replays: {
      insert: (results, remainingMs) => insertReplayResults({ clickhouse, clock }, results, remainingMs),
      exchange: (key) => readReplayedExchange(clickhouse, key),
      results: (filter) => readReplayResults(clickhouse, filter),
      ofRequest: (request, limit) => readReplaySummaries(clickhouse, request, limit),
      counts: (key) => countReplayResults(clickhouse, key),
      ids: (key) => readReplayedIds(clickhouse, key),
    },
    purges: {
      count: (filter) => countMatching({ clickhouse, database, cluster }, filter),
      requests: (filter) => purgeRequests({ clickhouse, database, cluster }, filter),
      results: (filter) => purgeReplayResults({ clickhouse, database, cluster }, filter),
    },
    usage: (account, range) => countUsage(clickhouse, account, range),
    permits: (filter) => countPermits({ clickhouse, cluster }, filter),
    spentPermits: (accountUid, period) => countSpentPermits(clickhouse, accountUid, period),
    ping: () => clickhouse.ping(),
    async close() {
      follower.close();
      await clickhouse.close();
    },
  };
};
