import type { ClickHouse } from './clickhouse.ts';
import { EVERY_PROJECT, type LogFilter } from './log-filter.ts';
import { decodeAll, READ_SETTINGS } from './run-query.ts';

/** What was inserted from a time on, without the rows. */
export interface Inserts {
  /** ClickHouse's clock when it looked. */
  readonly nowMs: number;
  /** For each millisecond of `inserted_at`, a sum over the ids of its rows: another one when rows were added. */
  readonly idSums: ReadonlyMap<number, bigint>;
  /** See `Answer.insertMark`. */
  readonly mark: string | undefined;
}

export interface InsertsFilter {
  readonly projectUid: LogFilter['projectUid'];
  /** By ClickHouse's clock. Undefined: `lookBackMs` before its now. */
  readonly sinceMs?: number | undefined;
  readonly lookBackMs: number;
}

/** A row of the answer that is no group, but has the clock. */
const CLOCK = 1;

/**
 * Reads `inserted_at` and `id` of the rows in question, and nothing of older ones (the index `inserted_at_minmax`). Rows that have expired
 * count, too: nothing of theirs is shown.
 */
export const readInserts = async (
  clickhouse: ClickHouse,
  { projectUid, sinceMs, lookBackMs }: InsertsFilter,
): Promise<Inserts> => {
  const from =
    sinceMs === undefined
      ? "now64(3, 'UTC') - toIntervalMillisecond({lookBackMs:UInt32})"
      : "fromUnixTimestamp64Milli({sinceMs:Int64}, 'UTC')";
  const sql = `SELECT toUnixTimestamp64Milli(inserted_at), sum(cityHash64(id)), 0::UInt8 FROM log
    WHERE inserted_at >= ${from} ${projectUid === EVERY_PROJECT ? '' : 'AND project_uid = {projectUid:String}'} GROUP BY inserted_at
    UNION ALL SELECT toUnixTimestamp64Milli(now64(3, 'UTC')), 0::UInt64, ${CLOCK}::UInt8 FORMAT RowBinary`;
  const params = {
    ...(projectUid !== EVERY_PROJECT && { projectUid }),
    ...(sinceMs === undefined ? { lookBackMs } : { sinceMs }),
  };
  const { bytes, insertMark: mark } = await clickhouse.ask('follow the log', { sql, params, settings: READ_SETTINGS });
  const rows = decodeAll(bytes, (reader) => ({ ms: reader.int64(), idSum: reader.uint64(), kind: reader.uint8() }));
  const clock = rows.find(({ kind }) => kind === CLOCK);
  if (clock === undefined) throw new Error('ClickHouse did not return its clock');
  const groups = rows.filter((row) => row !== clock);
  return { nowMs: clock.ms, idSums: new Map(groups.map(({ ms, idSum }) => [ms, idSum])), mark };
};
