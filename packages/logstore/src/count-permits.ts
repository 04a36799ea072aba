import type { ClickHouse } from './clickhouse.ts';
import { decodeAll } from './run-query.ts';

/** Selects blocks of permits of one account's quota. */
export interface PermitFilter {
  readonly accountUid: string;
  readonly blocks: readonly string[];
  /**
   * A time on ClickHouse's clock before which none of the blocks' requests was stored. It only limits the number of rows to read.
   */
  readonly since: Date;
}

/**
 * Returns the SQL for a table on every replica of every shard, in which each row appears once per replica. The query fails if a
 * replica is unavailable.
 */
const allReplicas = (table: string): string => `clusterAllReplicas({cluster:String}, currentDatabase(), ${table})`;

/**
 * See `LogStore.permits`. Includes requests that were purged. In a cluster, an insert is acknowledged when a majority of the
 * replicas has its rows, so a single replica may lack a row, and the query reads all of them. Expired rows also count until they
 * are deleted. There is no condition on `received_at`, because that time comes from a gateway's clock, which may be wrong by any
 * amount.
 */
export const countPermits = async (
  { clickhouse, cluster }: { readonly clickhouse: ClickHouse; readonly cluster: string | undefined },
  { accountUid, blocks, since }: PermitFilter,
): Promise<ReadonlyMap<string, number>> => {
  const [log, purged] =
    cluster === undefined ? ['log', 'purged_permits'] : [allReplicas('log_local'), allReplicas('purged_permits')];
  const ofBlocks = 'account_uid = {accountUid:String} AND quota_block IN {blocks:Array(String)}';
  const sql = `SELECT quota_block, uniqExact(id) FROM (
      SELECT quota_block, id FROM ${log}
      WHERE ${ofBlocks} AND inserted_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      UNION ALL SELECT quota_block, id FROM ${purged} WHERE ${ofBlocks})
    GROUP BY quota_block FORMAT RowBinary`;
  const params = { accountUid, blocks: [...blocks], since: since.getTime(), ...(cluster !== undefined && { cluster }) };
  const settings = { max_execution_time: 10, ...(cluster !== undefined && { skip_unavailable_shards: 0 as const }) };
  const answer = await clickhouse.run('count spent permits', { sql, params, settings });
  return new Map(decodeAll(answer, (reader) => [reader.text(), reader.int64()] as const));
};

/**
 * The number of an account's accepted requests in one quota month, and of the permits that they used. If there are more requests
 * than permits, a permit was used twice.
 */
export interface SpentPermits {
  readonly requests: number;
  readonly permits: number;
}

/**
 * The maximum difference between two clocks: that of the operator, which determines the month of a request, and that of ClickHouse,
 * which determines `inserted_at`.
 */
const EARLY_MS = 48 * 3_600_000;

/** See `LogStore.spentPermits`. */
export const countSpentPermits = async (
  clickhouse: ClickHouse,
  accountUid: string,
  period: string,
): Promise<SpentPermits> => {
  const sql = `SELECT uniqExact(id), uniqExact((quota_block, quota_permit)) FROM log
    WHERE account_uid = {accountUid:String} AND quota_period = {period:String} AND quota_block != ''
      AND inserted_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    FORMAT RowBinary`;
  const params = { accountUid, period, since: Date.parse(`${period}-01T00:00:00Z`) - EARLY_MS };
  const answer = await clickhouse.run('compare quotas', { sql, params, settings: { max_execution_time: 10 } });
  const [counts] = decodeAll(answer, (reader) => ({ requests: reader.int64(), permits: reader.int64() }));
  return counts ?? { requests: 0, permits: 0 };
};
