import type { ClickHouseSettings } from '@clickhouse/client';
import type { ClickHouse } from './clickhouse.ts';
import { filterConditions, LogFilterError } from './log-filter.ts';
import type { CountFilter } from './log-filter.ts';
import { decodeAll } from './run-query.ts';
import { HEADER_COLUMNS, PATTERN_COLUMNS } from './search/columns.ts';
import { HEADER_PREFIXES, headerField, headerNameText } from '@standin/exchange/search';

/** Fields whose values a search box can offer. For `header` and `resp.header`, the values are header names in lower case. */
export type DistinctField = (typeof PLAIN_FIELDS)[number] | 'header' | 'resp.header' | `${HeaderPrefix}${string}`;
type HeaderPrefix = keyof typeof HEADER_PREFIXES;

const PLAIN_FIELDS = [
  'method',
  'status',
  'outcome',
  'action',
  'path',
  'endpoint',
  'response',
  'project',
  'namespace',
  'account',
  'gateway',
  'key',
  'client',
] as const;

export interface DistinctOptions {
  /** Only values that begin with this text, ignoring case. */
  readonly prefix?: string | undefined;
  /** No more than `DISTINCT_LIMIT_MAX`. */
  readonly limit: number;
}

const DISTINCT_LIMIT_MAX = 100;
/** Longer values are not useful in a list of choices. */
const VALUE_LENGTH_MAX = 200;

/**
 * Limits for a user who is typing and does not want to wait. The values that are found within this time (in seconds), and up to
 * this number of different values, are good enough.
 */
const distinctSettings: ClickHouseSettings = {
  max_execution_time: 1,
  timeout_overflow_mode: 'break',
  max_rows_to_group_by: '100000',
  group_by_overflow_mode: 'any',
};

interface Source {
  readonly sql: string;
  readonly latin1: boolean;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Returns the SQL for the values of a field, which never contains text from the user. Throws a `LogFilterError` for an unknown
 * field.
 */
const fieldSource = (field: string): Source => {
  const plain = PLAIN_FIELDS.find((name) => name === field);
  if (plain === 'status') return { sql: "if(status = 0, 'none', toString(status))", latin1: false, params: {} };
  if (plain === 'method' || plain === 'outcome' || plain === 'action') return { sql: plain, latin1: false, params: {} };
  if (plain !== undefined) {
    const { sql, latin1 = false } = PATTERN_COLUMNS[plain];
    return { sql, latin1, params: {} };
  }
  if (field === 'header' || field === 'resp.header') {
    const { map } = HEADER_COLUMNS[field === 'header' ? 'request' : 'response'];
    return { sql: `arrayJoin(mapKeys(${map}))`, latin1: true, params: {} };
  }
  const header = headerField(field);
  if (header === undefined || !headerNameText.test(header.header)) {
    throw new LogFilterError(`the field ${JSON.stringify(field)} does not exist or has no values to choose from`);
  }
  const { names, values } = HEADER_COLUMNS[HEADER_PREFIXES[header.prefix].side];
  const sql = `arrayJoin(arrayFilter((v, n) -> lower(n) = {distinctHeader:String}, ${values}, ${names}))`;
  return { sql, latin1: true, params: { distinctHeader: header.header.toLowerCase() } };
};

/** See `LogStore.distinct`. */
export const distinctValues = async (
  clickhouse: ClickHouse,
  field: DistinctField,
  filter: CountFilter,
  { prefix = '', limit }: DistinctOptions,
): Promise<string[]> => {
  if (!Number.isInteger(limit) || limit < 1 || limit > DISTINCT_LIMIT_MAX) {
    throw new LogFilterError(`limit must be an integer from 1 to ${DISTINCT_LIMIT_MAX}`);
  }
  const source = fieldSource(field);
  const { frozen, final, params } = filterConditions(filter);
  // Nothing is merged here. Copies of a row do not add values. A version that has been replaced can add one, which does no harm in
  // a list of choices.
  const sql = `SELECT value FROM (SELECT ${source.sql} AS value FROM log WHERE ${[...frozen, ...final].join(' AND ')})
    WHERE startsWith(lower(value), lower(unhex({distinctPrefix:String}))) AND length(value) BETWEEN 1 AND ${VALUE_LENGTH_MAX}
    GROUP BY value ORDER BY count() DESC, value LIMIT {distinctLimit:UInt32} FORMAT RowBinary`;
  const distinctPrefix = Buffer.from(prefix, source.latin1 ? 'latin1' : 'utf8').toString('hex');
  const answer = await clickhouse.run('list values in the log', {
    sql,
    params: { ...params, ...source.params, distinctPrefix, distinctLimit: limit },
    settings: distinctSettings,
  });
  return decodeAll(answer, (reader) => (source.latin1 ? reader.latin1() : reader.text()));
};
