import type { ClickHouseSettings } from '@clickhouse/client';
import type { ClickHouse } from './clickhouse.ts';
import type { LogOwner } from './count-requests.ts';
import { decodeAll } from './run-query.ts';

export interface UsageRange {
  readonly from: Date;
  /** The end of the range, which it does not include. */
  readonly to: Date;
}

export interface DayUsage {
  /** In UTC, for example `2026-11-21`. */
  readonly day: string;
  readonly requests: number;
}

export interface EndpointUsage {
  readonly namespace: string;
  readonly project: string;
  readonly projectUid: string;
  readonly endpoint: string;
  readonly requests: number;
}

/** An account's request counts in the log, by day and by endpoint, and the size of what the log keeps. */
export interface Usage {
  /** Days with requests, in order. */
  readonly days: readonly DayUsage[];
  /**
   * The `USAGE_ENDPOINTS_MAX` busiest endpoints, busiest first. An endpoint that was deleted and created again under the same
   * name counts as one.
   */
  readonly endpoints: readonly EndpointUsage[];
  /** Bytes of the bodies that the log keeps for the account now, of any month, before compression. */
  readonly storedBytes: number;
}

const USAGE_ENDPOINTS_MAX = 100;

const settings: ClickHouseSettings = {
  // In seconds.
  max_execution_time: 10,
  // Copies and versions of a row have the same partition key, so rows of different partitions need not be merged.
  do_not_merge_across_partitions_select_final: 1,
};

/** See `LogStore.usage`. */
export const countUsage = async (
  clickhouse: ClickHouse,
  { uid, namespace, name }: LogOwner,
  { from, to }: UsageRange,
): Promise<Usage> => {
  // These columns have the same value in every copy and version of a row, so the conditions can be checked before the merge.
  const kept = `FROM log FINAL PREWHERE expires_at > now() AND account_uid = {uid:String}
    AND namespace = {namespace:String} AND account = {name:String}`;
  const rows = `${kept} AND received_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND received_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')`;
  const params = { uid, namespace, name, from: from.getTime(), to: to.getTime() };
  const run = (sql: string): Promise<Buffer> =>
    clickhouse.run('count requests for an account', { sql: `${sql} FORMAT RowBinary`, params, settings });
  const [byDay, byEndpoint, bytes] = await Promise.all([
    run(`SELECT toString(toDate(received_at, 'UTC')) AS day, count() ${rows} GROUP BY day ORDER BY day`),
    run(`SELECT namespace, project, project_uid, endpoint, count() AS requests ${rows}
      GROUP BY namespace, project, project_uid, endpoint ORDER BY requests DESC, namespace, project, endpoint LIMIT ${USAGE_ENDPOINTS_MAX}`),
    run(`SELECT sum(body_bytes) ${kept}`),
  ]);
  return {
    days: decodeAll(byDay, (reader) => ({ day: reader.text(), requests: reader.int64() })),
    endpoints: decodeAll(byEndpoint, (reader) => ({
      namespace: reader.text(),
      project: reader.text(),
      projectUid: reader.text(),
      endpoint: reader.text(),
      requests: reader.int64(),
    })),
    storedBytes: decodeAll(bytes, (reader) => reader.int64())[0] ?? 0,
  };
};
