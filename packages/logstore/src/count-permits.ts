import type { ClickHouse } from './clickhouse.ts';
import { decodeAll } from './run-query.ts';

/** Blocks of permits of one account's quota. */
export interface PermitFilter {
  readonly accountUid: string;
  readonly blocks: readonly string[];
  /** By ClickHouse's clock; no request of theirs was stored before. It only limits what is read. */
  readonly since: Date;
}

/**
 * See `LogStore.permits`. Also what has expired counts, for as long as it is there. `received_at` is no limit: it is by the clock of a
 * gateway, which may be wrong by any amount.
 */
export const countPermits = async (
  clickhouse: ClickHouse,
  { accountUid, blocks, since }: PermitFilter,
): Promise<ReadonlyMap<string, number>> => {
  const sql = `SELECT quota_block, uniqExact(id) FROM log
    WHERE account_uid = {accountUid:String} AND quota_block IN {blocks:Array(String)}
      AND inserted_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY quota_block FORMAT RowBinary`;
  const params = { accountUid, blocks: [...blocks], since: since.getTime() };
  const answer = await clickhouse.run('count spent permits', { sql, params, settings: { max_execution_time: 10 } });
  return new Map(decodeAll(answer, (reader) => [reader.text(), reader.int64()] as const));
};
