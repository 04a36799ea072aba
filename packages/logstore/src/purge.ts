import type { ClickHouseSettings } from '@clickhouse/client';
import type { Filter } from '@standin/exchange/search';
import type { ClickHouse } from './clickhouse.ts';
import { filterConditions, type Conditions } from './log-filter.ts';
import { onClusterSettings } from './migrate.ts';
import type { MigrationTarget } from './migrations.ts';
import type { RowBinaryReader } from './row-binary-reader.ts';
import { decodeAll, READ_SETTINGS } from './run-query.ts';

/** Selects the requests of one project to delete. */
export interface PurgeFilter {
  readonly projectUid: string;
  readonly namespace: string;
  readonly project: string;
  readonly search?: Filter | undefined;
  /** Received at this time or later, in microseconds since the epoch. */
  readonly sinceUs?: number | undefined;
  /** Received before this time, in microseconds since the epoch. */
  readonly untilUs: number;
}

/**
 * The state of a deletion. ClickHouse deletes in the background, so callers repeat the call until no replica has a matching row
 * (`done`). `failing` means that ClickHouse repeats the deletion after an error, which `system.mutations` shows.
 */
export type PurgeStep = 'done' | 'running' | 'failing';

interface Place extends MigrationTarget {
  readonly clickhouse: ClickHouse;
}

interface Table {
  /** The table to read, on all replicas, because one replica may lack rows that the others have. */
  readonly everywhere: string;
  /** The table from which to delete. */
  readonly local: string;
  /** ` ON CLUSTER …` if the replicas of one shard do not have the rows of another shard. Otherwise empty. */
  readonly onCluster: string;
}

const tableNames = ({ cluster }: MigrationTarget, name: 'log' | 'replay_results'): Table => {
  if (cluster === undefined) return { everywhere: name, local: name, onCluster: '' };
  const local = name === 'log' ? 'log_local' : name;
  return {
    everywhere: `clusterAllReplicas('${cluster}', currentDatabase(), ${local})`,
    local,
    onCluster: name === 'log' ? ` ON CLUSTER ${cluster}` : '',
  };
};

const everyReplica = ({ cluster }: MigrationTarget): ClickHouseSettings =>
  cluster === undefined ? READ_SETTINGS : { ...READ_SETTINGS, skip_unavailable_shards: 0 };

const stillRunning = async (place: Place, { local }: Table): Promise<PurgeStep | undefined> => {
  const { clickhouse, cluster, database } = place;
  const mutations = cluster === undefined ? 'system.mutations' : `clusterAllReplicas('${cluster}', system.mutations)`;
  const sql = `SELECT count(), countIf(latest_fail_reason != '') FROM ${mutations}
    WHERE database = {database:String} AND table = {table:String} AND NOT is_done FORMAT RowBinary`;
  const params = { database, table: local };
  const answer = await clickhouse.run('read the running deletions', { sql, params, settings: everyReplica(place) });
  const [counts] = decodeAll(answer, (reader) => ({ running: reader.int64(), failing: reader.int64() }));
  if (counts === undefined || counts.running === 0) return undefined;
  return counts.failing > 0 ? 'failing' : 'running';
};

/** An id list of this length stays below ClickHouse's limits on a statement (256 KiB) and on a mutation in ZooKeeper (1 MiB). */
const IDS_MAX = 5_000;
/** The maximum number of ids that one query returns. The remaining requests are deleted in the next step. */
const IDS_PER_STEP = 20 * IDS_MAX;

const idLists = (column: string, ids: readonly string[]): string[] => {
  const lists: string[] = [];
  for (let start = 0; start < ids.length; start += IDS_MAX) {
    const list = ids.slice(start, start + IDS_MAX).map((id) => `'${id}'`);
    lists.push(`${column} IN (${list.join(', ')})`);
  }
  return lists;
};

const WITHOUT_WAITING: ClickHouseSettings = { mutations_sync: '0' };

const DAY_MS = 86_400_000;

const find = async <T>(
  place: Place,
  sql: string,
  params: Conditions['params'],
  decode: (reader: RowBinaryReader) => T,
): Promise<T[]> => {
  const answer = await place.clickhouse.run('find the requests to delete', {
    sql,
    params,
    settings: everyReplica(place),
  });
  return decodeAll(answer, decode);
};

/** The matching rows of one day, which is one partition. */
interface Day {
  /** For example `2026-11-21`. */
  readonly day: string;
  /** `FROM` and everything after it. */
  readonly from: string;
  /** The conditions on values that all copies and versions of a row share. Undefined if the filter also has other conditions. */
  readonly where: string | undefined;
  /** The conditions of the filter without its search. */
  readonly inRange: string;
  readonly params: Conditions['params'];
  /** The number of matching requests, which is never 0. */
  readonly matched: number;
}

/**
 * Finds the days that have matching requests, including expired ones, on any replica. A query per day stays within the time limit
 * of a read.
 */
const findDays = async (place: Place, { everywhere }: Table, filter: PurgeFilter): Promise<Day[]> => {
  const { frozen, final, params } = filterConditions(filter, { expired: true });
  const inRange = filterConditions({ ...filter, search: undefined }, { expired: true });
  const sql = `SELECT DISTINCT toDate(received_at) FROM ${everywhere} WHERE ${inRange.frozen.join(' AND ')} FORMAT RowBinary`;
  const found: Day[] = [];
  for (const number of await find(place, sql, inRange.params, (reader) => reader.uint16())) {
    const day = new Date(number * DAY_MS).toISOString().slice(0, 10);
    const isDay = `toDate(received_at) = '${day}'`;
    const ofDay = [isDay, ...frozen].join(' AND ');
    const from =
      final.length === 0
        ? `FROM ${everywhere} WHERE ${ofDay}`
        : `FROM ${everywhere} FINAL PREWHERE ${ofDay} WHERE ${final.join(' AND ')}`;
    const count = `SELECT uniqExact(id) ${from} FORMAT RowBinary`;
    const [matched = 0] = await find(place, count, params, (reader) => reader.int64());
    const where = final.length === 0 ? ofDay : undefined;
    if (matched > 0)
      found.push({ day, from, where, inRange: [isDay, ...inRange.frozen].join(' AND '), params, matched });
  }
  return found;
};

/** See `PurgeStore.count`. */
export const countMatching = async (place: Place, filter: PurgeFilter): Promise<number> =>
  (await findDays(place, tableNames(place, 'log'), filter)).reduce((sum, { matched }) => sum + matched, 0);

/** See `PurgeStore.requests`. Runs one mutation per day, or several if the ids of the requests must be listed (see `findIds`). */
export const purgeRequests = async (place: Place, filter: PurgeFilter): Promise<PurgeStep> => {
  const table = tableNames(place, 'log');
  const running = await stillRunning(place, table);
  if (running !== undefined) return running;
  const days = await findDays(place, table, filter);
  for (const day of days) await purgeDay(place, table, day);
  return days.length === 0 ? 'done' : 'running';
};

const purgeDay = async (place: Place, { everywhere, local, onCluster }: Table, found: Day): Promise<void> => {
  const { clickhouse, cluster } = place;
  const { day, where, params } = found;
  const all =
    where === undefined ? await findIds(place, found) : [...(await findEarlier(place, everywhere, found)), where];
  for (const chosen of all) {
    await clickhouse.run('record the permits of deleted requests', {
      sql: `INSERT INTO purged_permits (account_uid, quota_block, id)
        SELECT DISTINCT account_uid, quota_block, id FROM ${everywhere}
        WHERE ${chosen} AND quota_block != '' AND inserted_at > now() - INTERVAL 4 DAY`,
      params,
      settings: {
        ...everyReplica(place),
        ...(cluster !== undefined && { insert_quorum: 'auto', insert_quorum_parallel: 1 }),
      },
    });
    await clickhouse.run('delete requests', {
      sql: `ALTER TABLE ${local}${onCluster} DELETE IN PARTITION '${day}' WHERE ${chosen}`,
      params,
      settings: { ...WITHOUT_WAITING, ...onClusterSettings(place) },
    });
  }
};

/**
 * Returns conditions that select earlier versions of matching rows that do not match themselves, which happens if only one of the
 * versions has the text of an encoded body (`REQUEST_TEXT`). Without the last version, they would be shown again.
 */
const findEarlier = async (
  place: Place,
  everywhere: string,
  { from, where, inRange, params }: Day,
): Promise<string[]> => {
  if (where === inRange) return [];
  const isEarlier = `${inRange} AND version < 2`;
  const sql = `SELECT DISTINCT id ${from} AND version > 0
      AND id GLOBAL IN (SELECT id FROM ${everywhere} WHERE ${isEarlier} AND NOT (${where}))
    LIMIT ${IDS_PER_STEP} FORMAT RowBinary`;
  const ids = await find(place, sql, params, (reader) => reader.uuid());
  return idLists('id', ids).map((list) => `${isEarlier} AND ${list}`);
};

/**
 * Returns conditions that select all versions of the matching rows, because a condition on the response does not match the version
 * without a response.
 */
const findIds = async (
  place: Place,
  { day, from, params }: Pick<Day, 'day' | 'from' | 'params'>,
): Promise<string[]> => {
  const sql = `SELECT DISTINCT id ${from} LIMIT ${IDS_PER_STEP} FORMAT RowBinary`;
  const ids = await find(place, sql, params, (reader) => reader.uuid());
  const ofProject = `toDate(received_at) = '${day}' AND project_uid = {projectUid:String}`;
  return idLists('id', ids).map((list) => `${ofProject} AND ${list}`);
};

/**
 * See `PurgeStore.results`. Includes the results for requests that have expired, because it is unknown whether these requests
 * matched the search.
 */
export const purgeReplayResults = async (
  place: Place,
  { projectUid, namespace, project, sinceUs = 0, untilUs }: PurgeFilter,
): Promise<PurgeStep> => {
  const table = tableNames(place, 'replay_results');
  const running = await stillRunning(place, table);
  if (running !== undefined) return running;
  const inRange = (column: string): string =>
    `${column} >= fromUnixTimestamp64Micro({since:Int64}, 'UTC') AND ${column} < fromUnixTimestamp64Micro({until:Int64}, 'UTC')`;
  const results = `project_uid = {projectUid:String} AND namespace = {namespace:String} AND project = {project:String}
      AND ${inRange('request_received_at')}`;
  const params = { projectUid, namespace, project, since: sinceUs, until: untilUs };
  const sql = `SELECT DISTINCT request_id FROM ${table.everywhere} WHERE ${results}
      AND request_id GLOBAL NOT IN (
        SELECT id FROM ${tableNames(place, 'log').everywhere}
        WHERE project_uid = {projectUid:String} AND ${inRange('received_at')}
          AND id GLOBAL IN (SELECT request_id FROM ${table.everywhere} WHERE ${results}))
    LIMIT ${IDS_PER_STEP} FORMAT RowBinary`;
  const ids = await find(place, sql, params, (reader) => reader.uuid());
  for (const list of idLists('request_id', ids)) {
    await place.clickhouse.run('delete the results of replays', {
      sql: `ALTER TABLE ${table.local} DELETE WHERE ${results} AND ${list}`,
      params,
      settings: WITHOUT_WAITING,
    });
  }
  return ids.length === 0 ? 'done' : 'running';
};
