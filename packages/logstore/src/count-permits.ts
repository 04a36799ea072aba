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
 * The log on every replica of every shard, in which each row appears once per replica. The query fails if a replica is
 * unavailable.
 */
const ALL_REPLICAS = 'clusterAllReplicas({cluster:String}, currentDatabase(), log_local)';

/**
 * See `LogStore.permits`. In a cluster, one replica may lag behind, but a row is on most of them before its insert is
 * acknowledged. Expired rows also count until they are deleted. There is no condition on `received_at`, because it comes from a
 * gateway's clock, which may be wrong by any amount.
 */
export const countPermits = async (
  { clickhouse, cluster }: { readonly clickhouse: ClickHouse; readonly cluster: string | undefined },
  { accountUid, blocks, since }: PermitFilter,
): Promise<ReadonlyMap<string, number>> => {
  const sql = `SELECT quota_block, uniqExact(id) FROM ${cluster === undefined ? 'log' : ALL_REPLICAS}
    WHERE account_uid = {accountUid:String} AND quota_block IN {blocks:Array(String)}
      AND inserted_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY quota_block FORMAT RowBinary`;
  const params = { accountUid, blocks: [...blocks], since: since.getTime(), ...(cluster !== undefined && { cluster }) };
  const settings = { max_execution_time: 10, ...(cluster !== undefined && { skip_unavailable_shards: 0 as const }) };
  const answer = await clickhouse.run('count spent permits', { sql, params, settings });
  return new Map(decodeAll(answer, (reader) => [reader.text(), reader.int64()] as const));
};

/**
 * An account's accepted requests in a month of its quota, and the permits that they spent. If the two differ, something is wrong.
 */
export interface SpentPermits {
  readonly requests: number;
  readonly permits: number;
}

/** Rows may arrive late at the end of a month, and a gateway's clock does not determine the month in which they count. */
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
