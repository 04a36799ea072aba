import type { ClickHouse } from './clickhouse.ts';
import { COUNT_SETTINGS } from './count-log.ts';
import { filterConditions, type CountFilter } from './log-filter.ts';
import { decodeAll } from './run-query.ts';

/** Selects the entries of one project in a time range. */
export interface EachFilter extends CountFilter {
  readonly projectUid: string;
  readonly namespace: string;
  readonly project: string;
  readonly sinceUs: number;
  readonly untilUs: number;
}

/** The requests that match a filter, by how much of them is in the log. */
export interface EachCount {
  /** Requests that match, whatever may still arrive. */
  readonly certain: number;
  /** Requests that match as they are, and whose gateway ended before their response. Only if the filter reads responses. */
  readonly withoutResponse: number;
  /** Requests in progress that may match when their response is in the log. Only if the filter reads responses. */
  readonly inProgress: number;
  /** Some of those counted as certain or without a response. */
  readonly ids: readonly string[];
}

/** The version of a whole exchange (`LogRow.version`). */
const WHOLE = 2;
const WITHOUT_RESPONSE = 1;
const IN_PROGRESS = 0;

/** Returns the SQL with each parameter renamed, so that several filters fit into one query. SQL contains no text of a user. */
const renamed = (sql: string, prefix: string): string => sql.replaceAll(/\{(\w+):/g, `{${prefix}$1:`);

/** See `LogStore.countEach`. */
export const countEach = async (
  clickhouse: ClickHouse,
  filters: readonly EachFilter[],
  idsMax: number,
): Promise<EachCount[]> => {
  if (filters.length === 0) return [];
  const params = new Map<string, unknown>(outerParams(filters));
  const matches: string[] = [];
  const counts: string[] = [];
  for (const [index, filter] of filters.entries()) {
    const { frozen, final, params: own } = filterConditions(filter);
    const prefix = `f${index}_`;
    for (const [name, value] of Object.entries(own)) params.set(`${prefix}${name}`, value);
    const all = (conditions: readonly string[]): string => renamed(conditions.join(' AND '), prefix);
    const [may, is] = [`may${index}`, `is${index}`];
    matches.push(`(${all(frozen)}) AS ${may}`, `(${[may, ...final.map((sql) => all([sql]))].join(' AND ')}) AS ${is}`);
    const isFrozen = final.length === 0;
    counts.push(
      isFrozen ? `countIf(${is})` : `countIf(${is} AND version = ${WHOLE})`,
      isFrozen ? 'toUInt64(0)' : `countIf(${is} AND version = ${WITHOUT_RESPONSE})`,
      isFrozen ? 'toUInt64(0)' : `countIf(${may} AND version = ${IN_PROGRESS})`,
      `groupArrayIf(${idsMax})(id, ${is} AND version > ${isFrozen ? -1 : IN_PROGRESS})`,
    );
  }
  // The outer conditions are on the primary key, so that only the time range of these projects is read.
  const sql = `SELECT ${counts.join(', ')} FROM (
      SELECT id, version, ${matches.join(', ')} FROM log FINAL
      PREWHERE project_uid IN {projects:Array(String)}
        AND received_at >= fromUnixTimestamp64Micro({since:Int64}, 'UTC') AND received_at < fromUnixTimestamp64Micro({until:Int64}, 'UTC')
        AND (${filters.map((_filter, index) => `may${index}`).join(' OR ')}))
    FORMAT RowBinary`;
  const answer = await clickhouse.run('count log entries', {
    sql,
    params: Object.fromEntries(params),
    settings: COUNT_SETTINGS,
  });
  const [all = []] = decodeAll(answer, (reader) =>
    filters.map((): EachCount => ({
      certain: reader.int64(),
      withoutResponse: reader.int64(),
      inProgress: reader.int64(),
      ids: Array.from({ length: reader.varint() }, () => reader.uuid()),
    })),
  );
  return all;
};

const outerParams = (filters: readonly EachFilter[]): readonly (readonly [string, unknown])[] => [
  ['projects', [...new Set(filters.map(({ projectUid }) => projectUid))]],
  ['since', Math.min(...filters.map(({ sinceUs }) => sinceUs))],
  ['until', Math.max(...filters.map(({ untilUs }) => untilUs))],
];
