import { TupleParam } from '@clickhouse/client';
import type { ClickHouse } from './clickhouse.ts';
import { decodeAll } from './run-query.ts';
import { RowBinaryReader } from './row-binary-reader.ts';

/** The time limit of a query, in seconds. */
const EXECUTION_TIME_MAX = 10;
const HOUR_MS = 3_600_000;

/**
 * A Project or an Account whose rows are read. Its status may contain a wrong uid, so only rows with its names count as its own
 * (ADR 024).
 */
export interface LogOwner {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Counts of consecutive hours, oldest first. The last hour ends now. */
export type HourlyCounts = readonly number[];

/** See `LogStore.requestsByHour`. Hours are counted back from the current time, so the last one is as long as the others. */
export const countByHour = async (
  clickhouse: ClickHouse,
  projects: readonly LogOwner[],
  hours: number,
): Promise<Map<string, HourlyCounts>> => {
  const counts = new Map(projects.map(({ uid }) => [uid, new Array<number>(hours).fill(0)]));
  if (projects.length === 0) return counts;
  const now = Date.now();
  const sql = `SELECT project_uid, toUInt16(intDiv({now:Int64} - toUnixTimestamp64Milli(received_at), ${HOUR_MS})) AS age, uniqExact(id)
    FROM log
    WHERE expires_at > now() AND (project_uid, namespace, project) IN {projects:Array(Tuple(String, String, String))}
      AND received_at > fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND received_at <= fromUnixTimestamp64Milli({now:Int64}, 'UTC')
    GROUP BY project_uid, age FORMAT RowBinary`;
  const owners = projects.map(({ uid, namespace, name }) => new TupleParam([uid, namespace, name]));
  const params = { projects: owners, now, since: now - hours * HOUR_MS };
  const answer = await clickhouse.run('count requests', {
    sql,
    params,
    settings: { max_execution_time: EXECUTION_TIME_MAX },
  });
  const reader = new RowBinaryReader(answer);
  while (!reader.done) {
    const [uid, age, count] = [reader.text(), reader.uint16(), reader.int64()];
    const byHour = counts.get(uid);
    const index = hours - 1 - age;
    if (byHour?.[index] !== undefined) byHour[index] = count;
  }
  return counts;
};

export interface LastRequest extends LogOwner {
  readonly receivedAt: Date;
}

/** See `LogStore.lastRequests`. */
export const findLastRequests = async (
  clickhouse: ClickHouse,
  insertedWithinMs: number | undefined,
): Promise<LastRequest[]> => {
  const inserted = "AND inserted_at >= now64(3, 'UTC') - toIntervalMillisecond({insertedWithinMs:UInt64})";
  const sql = `SELECT project_uid, namespace, project, toUnixTimestamp64Milli(max(received_at)) FROM log
    WHERE expires_at > now() ${insertedWithinMs === undefined ? '' : inserted}
    GROUP BY project_uid, namespace, project FORMAT RowBinary`;
  const answer = await clickhouse.run('read the time of the last requests', {
    sql,
    params: insertedWithinMs === undefined ? {} : { insertedWithinMs },
    settings: { max_execution_time: EXECUTION_TIME_MAX },
  });
  return decodeAll(answer, (reader) => ({
    uid: reader.text(),
    namespace: reader.text(),
    name: reader.text(),
    receivedAt: new Date(reader.int64()),
  }));
};
