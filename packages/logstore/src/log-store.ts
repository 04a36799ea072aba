import type { ClickHouseSettings } from '@clickhouse/client';
import type { LogRow } from '@standin/contract';
import type { Logger } from 'pino';
import { connectClickHouse } from './clickhouse.ts';
import type { ClickHouse, ClickHouseAddress } from './clickhouse.ts';
import { countByHour, type HourlyCounts } from './count-requests.ts';
import { countLog, readHistogram } from './count-log.ts';
import type { HistogramBucket, HistogramRange } from './count-log.ts';
import { countPermits, countSpentPermits, type PermitFilter, type SpentPermits } from './count-permits.ts';
import { countUsage, type Usage, type UsageRange } from './count-usage.ts';
import { distinctValues } from './distinct-values.ts';
import type { DistinctField, DistinctOptions } from './distinct-values.ts';
import { createInsertFollower, type FollowOptions, type InsertFeed } from './follow-inserts.ts';
import { LOG_COLUMNS } from './log-columns.ts';
import type { EntryPreview, LogEntry, LogSummary, RowVersion } from './log-entry.ts';
import type { CountFilter, LogFilter } from './log-filter.ts';
import { migrate } from './migrate.ts';
import { readInserts } from './read-inserts.ts';
import { readEntries, readEntry, readPreview, readRow, readVersion } from './read-log.ts';
import { readSummaries } from './read-summaries.ts';
import { readSchemaState, type SchemaState } from './schema-state.ts';
import {
  countReplayResults,
  insertReplayResults,
  readReplayAnswer,
  readReplayedIds,
  readReplayResults,
  readReplaysOf,
} from './replay-results.ts';
import type {
  ReplayAnswer,
  ReplayKey,
  ReplayResult,
  ReplayResultsFilter,
  ReplaySummary,
  StatusCount,
} from './replay-results.ts';

export interface InsertBatch {
  /** Concatenated `encodeRow`s. A retry sends the very same bytes. */
  readonly rows: Buffer;
  readonly rowCount: number;
  /**
   * Deduplication token: within the server's window (10,000 batches) a token that was seen is acknowledged and adds nothing,
   * whatever the bytes. So one token belongs to one sequence of bytes for ever; a digest of the bytes is a good one.
   */
  readonly token: string;
  /** How many of `LOG_COLUMNS` each row has; default: all. Columns are only ever appended, so rows of an older gateway have fewer. */
  readonly columnCount?: number;
}

/** Access to the log of captured traffic. Every call rejects with a `LogStoreError`, or a `LogFilterError` for a bad filter. */
export interface LogStore {
  /** Creates the database and its tables, or brings them up to date; safe at every start and in parallel. */
  migrate(): Promise<void>;
  /** Whether the tables are those that `migrate` makes. Changes nothing. */
  schema(): Promise<SchemaState>;
  /** Resolves when the rows are on ClickHouse's disk (in a cluster: on a majority of the replicas). */
  insert(batch: InsertBatch): Promise<void>;
  /** What a list shows, without headers and bodies. */
  summaries(filter: LogFilter): Promise<LogSummary[]>;
  /**
   * Tells which milliseconds of `inserted_at` have new rows, until it is closed. Readers of one project share its polls; see
   * `tailSummaries`.
   */
  follow(options: FollowOptions): InsertFeed;
  /** Whole entries for summaries, in their order, in bounded memory; entries that expired meanwhile are left out. */
  entries(summaries: readonly LogSummary[]): AsyncIterable<LogEntry>;
  /** Whole entries. All of them in memory: `summaries` and `entries` are for long lists. */
  list(filter: LogFilter): Promise<LogEntry[]>;
  /** How many entries there are. Takes at most 10 s, then it is a `LogStoreError` with code 159. */
  count(filter: CountFilter): Promise<number>;
  /** Entries by time and class of status; every bucket, also the empty ones. Time limit as `count`. */
  histogram(filter: CountFilter, range: HistogramRange): Promise<HistogramBucket[]>;
  /**
   * Values of a field, the most frequent first, for people to choose from: what can be found in a second. Rare ones may be missing
   * from a large log.
   */
  distinct(field: DistinctField, filter: CountFilter, options: DistinctOptions): Promise<string[]>;
  /** `undefined` if there is no such entry, or it expired. */
  get(id: string): Promise<LogEntry | undefined>;
  /** As `get`, as it is stored. The bodies are views of one buffer: nothing is decoded, so it takes no time, and a worker can get it. */
  row(id: string): Promise<LogRow | undefined>;
  /** Of the row that `get` and `row` read; cheap, for it needs no bodies. */
  version(id: string): Promise<RowVersion | undefined>;
  /** As `get`, with at most so many bytes of each body: what a page shows of 10 MiB comes as fast as what it shows of a line. */
  preview(id: string, bodyBytesMax: number): Promise<EntryPreview | undefined>;
  /** How many requests each project had in each of the last hours, by its uid. */
  requestsByHour(projectUids: readonly string[], hours: number): Promise<ReadonlyMap<string, HourlyCounts>>;
  readonly replays: ReplayStore;
  /** Requests of an account by day and by endpoint, of those that the log still has. Time limit as `count`. */
  usage(accountUid: string, range: UsageRange): Promise<Usage>;
  /**
   * How many requests were accepted with permits of each block; blocks without any are missing. Time limit as `count`. Rejects in a cluster of which
   * a replica is away: it may have what the others lack.
   */
  permits(filter: PermitFilter): Promise<ReadonlyMap<string, number>>;
  /** How many requests of an account were accepted with permits of a month (`2026-11`), and how many permits they have. Time limit as `count`. */
  spentPermits(accountUid: string, period: string): Promise<SpentPermits>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What replays got back. Always with the project's uid: the only condition that is safe against a recreated namespace. */
export interface ReplayStore {
  /** Resolves when they are on ClickHouse's disk. The same result twice does no harm. */
  insert(results: readonly ReplayResult[]): Promise<void>;
  /** The whole result of one request; `undefined` if there is none (yet). */
  answer(key: ReplayKey & { readonly requestId: string }): Promise<ReplayAnswer | undefined>;
  /** Results of a replay in the order of their requests. */
  results(filter: ReplayResultsFilter): Promise<ReplaySummary[]>;
  /** All replays of one captured request, the newest first. */
  ofRequest(projectUid: string, requestId: string, limit: number): Promise<ReplaySummary[]>;
  /** How many requests were answered with which status; 0: without an answer. */
  counts(key: ReplayKey): Promise<StatusCount[]>;
  /** Requests of a replay, received at this time or later, that have a result. */
  ids(key: ReplayKey & { readonly sinceUs: number }): Promise<string[]>;
}

export interface LogStoreOptions extends ClickHouseAddress {
  /** See `MigrationTarget`. */
  readonly cluster?: string | undefined;
  readonly logger?: Logger | undefined;
}

/** Everything that "exactly once" rests on is said with each insert: servers' defaults differ by version and profile. */
const insertSettings = (cluster: string | undefined): ClickHouseSettings => ({
  async_insert: 0,
  insert_deduplicate: 1,
  // A segment that waited out a long outage may span many days.
  max_partitions_per_insert_block: '1000',
  ...(cluster !== undefined && {
    distributed_foreground_insert: 1,
    insert_quorum: 'auto',
    insert_quorum_parallel: 1,
  }),
});

/** Overrides `insert_deduplicate` since 26.2; older servers refuse to hear of it. */
const DEDUPLICATE_INSERT = 'deduplicate_insert';

const knowsSetting = async (clickhouse: ClickHouse, name: string): Promise<boolean> => {
  const sql = 'SELECT count() FROM system.settings WHERE name = {name:String} FORMAT TabSeparated';
  const answer = await clickhouse.run('read the settings', { sql, params: { name } });
  return answer.toString('utf8').trim() === '1';
};

/**
 * Opens the log in a ClickHouse server or in the embedded engine (`startEmbeddedEngine`). Nothing is sent before the first
 * call, and nothing is retried: that is the caller's to decide, by `LogStoreError.kind`.
 */
export const openLogStore = (options: LogStoreOptions): LogStore => {
  const { database, cluster, logger } = options;
  const clickhouse = connectClickHouse(options);
  const follower = createInsertFollower({
    read: (filter) => readInserts(clickhouse, filter),
    next: (mark, signal) => clickhouse.nextInsert(mark, signal),
  });

  let forInserts: ClickHouseSettings | undefined;
  const settingsForInserts = async (): Promise<ClickHouseSettings> => {
    forInserts ??= {
      ...insertSettings(cluster),
      ...((await knowsSetting(clickhouse, DEDUPLICATE_INSERT)) && { [DEDUPLICATE_INSERT]: 'enable' }),
    };
    return forInserts;
  };

  return {
    migrate: () => migrate(clickhouse, { database, cluster }, logger),
    schema: () => readSchemaState(clickhouse, { database, cluster }),

    async insert({ rows, rowCount, token, columnCount }) {
      if (rowCount === 0) return;
      const sql = `INSERT INTO log (${LOG_COLUMNS.slice(0, columnCount).join(', ')}) FORMAT RowBinary`;
      const settings = { ...(await settingsForInserts()), insert_deduplication_token: token };
      await clickhouse.run(`insert ${rowCount} rows`, { sql, settings, body: rows });
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
    histogram: (filter, range) => readHistogram(clickhouse, filter, range),
    distinct: (field, filter, distinctOptions) => distinctValues(clickhouse, field, filter, distinctOptions),

    get: (id) => readEntry(clickhouse, id),
    row: (id) => readRow(clickhouse, id),
    version: (id) => readVersion(clickhouse, id),
    preview: (id, bodyBytesMax) => readPreview(clickhouse, id, bodyBytesMax),
    requestsByHour: (projectUids, hours) => countByHour(clickhouse, projectUids, hours),
    replays: {
      insert: (results) => insertReplayResults(clickhouse, results),
      answer: (key) => readReplayAnswer(clickhouse, key),
      results: (filter) => readReplayResults(clickhouse, filter),
      ofRequest: (projectUid, requestId, limit) => readReplaysOf(clickhouse, projectUid, requestId, limit),
      counts: (key) => countReplayResults(clickhouse, key),
      ids: (key) => readReplayedIds(clickhouse, key),
    },
    usage: (accountUid, range) => countUsage(clickhouse, accountUid, range),
    permits: (filter) => countPermits({ clickhouse, cluster }, filter),
    spentPermits: (accountUid, period) => countSpentPermits(clickhouse, accountUid, period),
    ping: () => clickhouse.ping(),
    async close() {
      follower.close();
      await clickhouse.close();
    },
  };
};
