import type { ClickHouse } from './clickhouse.ts';
import { EVERY_PROJECT, type LogFilter } from './log-filter.ts';
import { decodeAll, READ_SETTINGS } from './run-query.ts';

/** Inserts since a point in time, without their rows. */
export interface Inserts {
  /** The time on ClickHouse's clock when the query ran. */
  readonly nowMs: number;
  /** For each millisecond of `inserted_at`, a sum over the ids of its rows. The sum changes when rows are added. */
  readonly idSums: ReadonlyMap<number, bigint>;
  /** See `Answer.insertMark`. */
  readonly mark: string | undefined;
}

/** The project whose inserts are read. A uid from a status needs both names as well (ADR 024). */
export type InsertScope = Pick<LogFilter, 'projectUid' | 'namespace' | 'project'>;

export interface InsertsFilter extends InsertScope {
  /** A time on ClickHouse's clock. If undefined, the period begins `lookBackMs` before that clock's current time. */
  readonly sinceMs?: number | undefined;
  readonly lookBackMs: number;
}

/** Marks the result row that contains the clock and is not a group. */
const CLOCK = 1;

/**
 * Reads only `inserted_at`, `id` and the columns of the scope, for rows since the start of the period. The index
 * `inserted_at_minmax` makes reading older rows unnecessary. Expired rows also count, but none of their content is shown.
 */
export const readInserts = async (
  clickhouse: ClickHouse,
  { projectUid, namespace, project, sinceMs, lookBackMs }: InsertsFilter,
): Promise<Inserts> => {
  const from =
    sinceMs === undefined
      ? "now64(3, 'UTC') - toIntervalMillisecond({lookBackMs:UInt32})"
      : "fromUnixTimestamp64Milli({sinceMs:Int64}, 'UTC')";
  const sql = `SELECT toUnixTimestamp64Milli(inserted_at), sum(cityHash64(id)), 0::UInt8 FROM log
    WHERE inserted_at >= ${from}
      ${projectUid === EVERY_PROJECT ? '' : 'AND project_uid = {projectUid:String}'}
      ${namespace === undefined ? '' : 'AND namespace = {namespace:String}'}
      ${project === undefined ? '' : 'AND project = {project:String}'}
    GROUP BY inserted_at
    UNION ALL SELECT toUnixTimestamp64Milli(now64(3, 'UTC')), 0::UInt64, ${CLOCK}::UInt8 FORMAT RowBinary`;
  const params = {
    ...(projectUid !== EVERY_PROJECT && { projectUid }),
    ...(namespace !== undefined && { namespace }),
    ...(project !== undefined && { project }),
    ...(sinceMs === undefined ? { lookBackMs } : { sinceMs }),
  };
  const { bytes, insertMark: mark } = await clickhouse.ask('follow the log', { sql, params, settings: READ_SETTINGS });
  const rows = decodeAll(bytes, (reader) => ({ ms: reader.int64(), idSum: reader.uint64(), kind: reader.uint8() }));
  const clock = rows.find(({ kind }) => kind === CLOCK);
  if (clock === undefined) throw new Error('ClickHouse did not return its clock');
  const groups = rows.filter((row) => row !== clock);
  return { nowMs: clock.ms, idSums: new Map(groups.map(({ ms, idSum }) => [ms, idSum])), mark };
};
