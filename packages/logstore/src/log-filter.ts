import { LOG_TABLE, parseInstant, type RequestMethod } from '@standin/contract';
import { selection, SUMMARY_PROPERTIES } from './columns.ts';
import { compileFilter } from './search/compile-filter.ts';
import type { Filter } from '@standin/exchange/search';

/** The entry or summary after which a list continues. */
export interface LogCursor {
  readonly id: string;
  readonly receivedAt: string;
}

export interface StatusRange {
  readonly min: number;
  readonly max: number;
}

/** Replaces a project's uid for a reader who may see the whole log. It is a symbol, so that no request input can equal it. */
export const EVERY_PROJECT = Symbol('every project');

/** Selects and orders entries. Missing conditions do not restrict the result, except for the project, which is required. */
export interface LogFilter {
  /**
   * The project's uid. Unlike the names, it does not select the rows of a deleted namespace with the same name, and it limits
   * reading to one range of the primary key. A uid from a status needs `namespace` and `project` as well (ADR 024).
   */
  readonly projectUid: string | typeof EVERY_PROJECT;
  readonly namespace?: string | undefined;
  readonly project?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly method?: RequestMethod | undefined;
  readonly status?: number | StatusRange | undefined;
  /** A search that was parsed by `parseFilter` from `@standin/exchange/search`. */
  readonly search?: Filter | undefined;
  /** Received at this time or later, in microseconds since the epoch. Rows have microseconds, so a `Date` would be too coarse. */
  readonly sinceUs?: number | undefined;
  /** Received before this time, in microseconds since the epoch. */
  readonly untilUs?: number | undefined;
  /** Ids of entries to leave out. Use no more than a hundred, because they are part of the URL. */
  readonly without?: readonly string[] | undefined;
  /** Stored by ClickHouse at this time or later, by its own clock. */
  readonly insertedSince?: Date | undefined;
  /** Stored in one of these milliseconds since the epoch. Use no more than a few hundred, because they are part of the URL. */
  readonly insertedAt?: readonly number[] | undefined;
  readonly order?: 'newest-first' | 'oldest-first' | undefined;
  /** Only entries after this one in the chosen order. */
  readonly after?: LogCursor | undefined;
  /** No more than `LIST_LIMIT_MAX`. */
  readonly limit: number;
}

/** Selects entries without an order or a limit. With `after`, only entries that were received after that one. */
export type CountFilter = Omit<LogFilter, 'insertedSince' | 'insertedAt' | 'order' | 'limit'>;

export const LIST_LIMIT_MAX = 10_000;

const SUMMARY_SQL = selection(LOG_TABLE, SUMMARY_PROPERTIES).sql;

export interface Query {
  readonly sql: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export class LogFilterError extends Error {
  override readonly name = 'LogFilterError';
}

export const uuidText = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const checkedTime = (time: number, field: string): number => {
  if (!Number.isInteger(time)) throw new LogFilterError(`${field} is not a time`);
  return time;
};

const timeParam = (name: string): string => `fromUnixTimestamp64Micro({${name}:Int64}, 'UTC')`;

/** The conditions of a query. Values are never part of the SQL, because all of them are parameters. */
export interface Conditions {
  /**
   * Conditions on values that all copies and versions of a row share, so that they can be checked before the merge. Never empty.
   */
  readonly frozen: readonly string[];
  /**
   * Conditions on values that can differ between the copies and versions of a row, such as the status. A row without a recorded
   * response may satisfy them by mistake.
   */
  readonly final: readonly string[];
  readonly params: Readonly<Record<string, unknown>>;
}

/** Collects conditions together with their parameters. */
const collectConditions = () => {
  const frozen: string[] = [];
  const final: string[] = [];
  const params: Record<string, unknown> = {};
  return {
    frozen,
    final,
    params,
    add(condition: string, values: Record<string, unknown> = {}): void {
      frozen.push(condition);
      Object.assign(params, values);
    },
    addFinal(condition: string, values: Record<string, unknown> = {}): void {
      final.push(condition);
      Object.assign(params, values);
    },
  };
};

/**
 * Returns the conditions of a filter. Throws a `LogFilterError` if the filter is invalid.
 *
 * @param expired whether to include expired rows, which merges delete only some time later
 */
export const filterConditions = (filter: LogFilter | CountFilter, { expired = false } = {}): Conditions => {
  const where = collectConditions();
  if (!expired) where.add('expires_at > now()');
  addProject(where, filter.projectUid);
  if (filter.namespace !== undefined) where.add('namespace = {namespace:String}', { namespace: filter.namespace });
  if (filter.project !== undefined) where.add('project = {project:String}', { project: filter.project });
  if (filter.endpoint !== undefined) where.add('endpoint = {endpoint:String}', { endpoint: filter.endpoint });
  if (filter.method !== undefined) where.add('method = {method:String}', { method: filter.method });
  const { sinceUs, untilUs } = filter;
  if (sinceUs !== undefined)
    where.add(`received_at >= ${timeParam('since')}`, { since: checkedTime(sinceUs, 'sinceUs') });
  if (untilUs !== undefined)
    where.add(`received_at < ${timeParam('until')}`, { until: checkedTime(untilUs, 'untilUs') });
  if (filter.without !== undefined && filter.without.length > 0)
    where.add('id NOT IN {without:Array(UUID)}', { without: filter.without });
  if (filter.status !== undefined) {
    const { min, max } = statusRange(filter.status);
    where.addFinal('status BETWEEN {statusMin:UInt16} AND {statusMax:UInt16}', { statusMin: min, statusMax: max });
  }
  if (filter.search !== undefined) {
    const { conditions, params } = compileFilter(filter.search);
    Object.assign(where.params, params);
    for (const { sql, frozen } of conditions) (frozen ? where.frozen : where.final).push(sql);
  }
  addPosition(where, 'limit' in filter ? filter : { after: filter.after, order: 'oldest-first' });
  return where;
};

/** Adds the condition on the project. A missing uid must never select the rows of all projects. */
const addProject = (where: ReturnType<typeof collectConditions>, projectUid: LogFilter['projectUid']): void => {
  if (projectUid === EVERY_PROJECT) return;
  if (typeof projectUid !== 'string' || projectUid === '')
    throw new LogFilterError("the filter has no project; set a project's uid or EVERY_PROJECT");
  where.add('project_uid = {projectUid:String}', { projectUid });
};

/** Adds the times of inserts, and the position after a cursor. */
const addPosition = (
  where: ReturnType<typeof collectConditions>,
  filter: Pick<LogFilter, 'insertedSince' | 'insertedAt' | 'after' | 'order'>,
): void => {
  if (filter.insertedSince) {
    const insertedSince = checkedTime(filter.insertedSince.getTime(), 'insertedSince');
    where.addFinal(`inserted_at >= fromUnixTimestamp64Milli({insertedSince:Int64}, 'UTC')`, { insertedSince });
  }
  if (filter.insertedAt) {
    const insertedAt = filter.insertedAt.map((ms) => new Date(ms).toISOString().replace('T', ' ').slice(0, -1));
    where.addFinal(`inserted_at IN {insertedAt:Array(DateTime64(3, 'UTC'))}`, { insertedAt });
  }
  if (filter.after) {
    const afterUs = parseInstant(filter.after.receivedAt);
    if (afterUs === undefined || !uuidText.test(filter.after.id)) throw new LogFilterError('after is not a cursor');
    const compare = filter.order === 'oldest-first' ? '>' : '<';
    // The second condition implies the first, but only the first one narrows the range of the primary key.
    where.add(`received_at ${compare}= ${timeParam('afterUs')}`, { afterUs });
    where.add(`(received_at, id) ${compare} (${timeParam('afterUs')}, {afterId:UUID})`, { afterId: filter.after.id });
  }
};

const statusRange = (status: number | StatusRange): StatusRange =>
  typeof status === 'number' ? { min: status, max: status } : status;

export const assertLimit = (limit: number): void => {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIST_LIMIT_MAX) return;
  throw new LogFilterError(`limit must be an integer from 1 to ${LIST_LIMIT_MAX}`);
};

/**
 * Returns the query for the summaries that a filter selects, in order. A row that was delivered twice appears twice, side by side,
 * and `readSummaries` drops the repetitions. With `LIMIT 1 BY id` or with `version` in `ORDER BY`, ClickHouse would sort all rows
 * instead of keeping only the first ones (500 ms instead of 70 ms on 10M rows).
 */
export const summariesQuery = (filter: LogFilter): Query => {
  const { frozen, final, params } = filterConditions(filter);
  const direction = filter.order === 'oldest-first' ? 'ASC' : 'DESC';
  return {
    sql: `SELECT ${SUMMARY_SQL}, body_bytes, inserted_at FROM log WHERE ${[...frozen, ...final].join(' AND ')}
      ORDER BY received_at ${direction}, id ${direction} LIMIT {limit:UInt32} FORMAT RowBinary`,
    params: { ...params, limit: filter.limit },
  };
};
