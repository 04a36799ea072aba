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
const IN_PROGRESS = 0;

/** Returns the SQL with each parameter renamed, so that several filters fit into one query. SQL contains no text of a user. */
const renamed = (sql: string, prefix: string): string => sql.replaceAll(/\{(\w+):/g, `{${prefix}$1:`);

/** The numbers that stand for a filter in a result: a row matches as it is, or may match when its response is in the log. */
const isCode = (index: number): number => 2 * index + 1;
const mayCode = (index: number): number => 2 * index + 2;

/** Entries of the same version for which the same code stands. */
interface Group {
  readonly code: number;
  readonly version: number;
  readonly count: number;
  readonly ids: readonly string[];
}

/**
 * See `LogStore.countEach`. Each row is turned into the codes of the filters that it matches, and the codes are counted. With aggregate
 * functions for each filter, ClickHouse would take several times as long to plan the query.
 */
export const countEach = async (
  clickhouse: ClickHouse,
  filters: readonly EachFilter[],
  idsMax: number,
): Promise<EachCount[]> => {
  if (filters.length === 0) return [];
  const params = new Map<string, unknown>(outerParams(filters));
  const compiled = filters.map((filter, index) => {
    const { frozen, final, params: own } = filterConditions(filter);
    const prefix = `f${index}_`;
    for (const [name, value] of Object.entries(own)) params.set(`${prefix}${name}`, value);
    const all = (conditions: readonly string[]): string => renamed(conditions.join(' AND '), prefix);
    const code =
      final.length === 0
        ? `if(${all(frozen)}, ${isCode(index)}, 0)`
        : `if(${all(frozen)}, if(${all(final)}, ${isCode(index)}, ${mayCode(index)}), 0)`;
    return { code, isFrozen: final.length === 0, frozen: all(frozen) };
  });
  const [first] = compiled;
  // The first conditions are on the primary key, so that only the time range of these projects is read. Indexes help one filter.
  const alone = first !== undefined && compiled.length === 1 ? ` AND ${first.frozen}` : '';
  const sql = `SELECT code, version, count(), groupArray(${idsMax})(id) FROM (
      SELECT id, version, toUInt16(arrayJoin(arrayFilter(c -> c > 0, [${compiled.map(({ code }) => code).join(', ')}]))) AS code
      FROM log FINAL PREWHERE project_uid IN {projects:Array(String)}
        AND received_at >= fromUnixTimestamp64Micro({since:Int64}, 'UTC')
        AND received_at < fromUnixTimestamp64Micro({until:Int64}, 'UTC')${alone})
    GROUP BY code, version FORMAT RowBinary`;
  const answer = await clickhouse.run('count log entries', {
    sql,
    params: Object.fromEntries(params),
    settings: COUNT_SETTINGS,
  });
  const groups = decodeAll(answer, (reader): Group => ({
    code: reader.uint16(),
    version: reader.uint8(),
    count: reader.int64(),
    ids: Array.from({ length: reader.varint() }, () => reader.uuid()),
  }));
  const byCode = Map.groupBy(groups, ({ code }) => code);
  return compiled.map(({ isFrozen }, index) => {
    const matching = byCode.get(isCode(index)) ?? [];
    const others = [...matching, ...(byCode.get(mayCode(index)) ?? [])];
    const known = isFrozen ? matching : matching.filter(({ version }) => version > IN_PROGRESS);
    const sum = (some: readonly Group[]): number => some.reduce((total, { count }) => total + count, 0);
    return {
      certain: sum(isFrozen ? matching : matching.filter(({ version }) => version === WHOLE)),
      withoutResponse: isFrozen ? 0 : sum(known.filter(({ version }) => version < WHOLE)),
      inProgress: isFrozen ? 0 : sum(others.filter(({ version }) => version === IN_PROGRESS)),
      ids: known.flatMap(({ ids }) => ids).slice(0, idsMax),
    };
  });
};

const outerParams = (filters: readonly EachFilter[]): readonly (readonly [string, unknown])[] => [
  ['projects', [...new Set(filters.map(({ projectUid }) => projectUid))]],
  ['since', Math.min(...filters.map(({ sinceUs }) => sinceUs))],
  ['until', Math.max(...filters.map(({ untilUs }) => untilUs))],
];
