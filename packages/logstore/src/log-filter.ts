import type { Method } from '@standin/contract';
import { parseTime } from './log-entry.ts';

/** Where a list goes on: any entry or summary is one. */
export interface LogCursor {
  readonly id: string;
  readonly receivedAt: string;
}

export interface StatusRange {
  readonly min: number;
  readonly max: number;
}

/** Which entries, in which order. Conditions that are absent do not restrict. */
export interface LogFilter {
  /** The project's uid: the only condition that is safe against a recreated namespace, and the one that reads a single range. */
  readonly projectUid?: string | undefined;
  readonly namespace?: string | undefined;
  readonly project?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly method?: Method | undefined;
  readonly status?: number | StatusRange | undefined;
  /** Received at this time or later. */
  readonly since?: Date | undefined;
  /** Received before this time. */
  readonly until?: Date | undefined;
  /** Taken by ClickHouse at this time or later, by its own clock. */
  readonly insertedSince?: Date | undefined;
  readonly order?: 'newest-first' | 'oldest-first' | undefined;
  /** Only what comes behind this entry in the chosen order. */
  readonly after?: LogCursor | undefined;
  /** At most `LIST_LIMIT_MAX`. */
  readonly limit: number;
}

export const LIST_LIMIT_MAX = 10_000;

/** Columns of a `LogSummary`, in the order in which `LogStore` decodes them. */
export const SUMMARY_COLUMNS = [
  'id',
  'received_at',
  'namespace',
  'project',
  'endpoint',
  'method',
  'path',
  'query',
  'status',
  'duration_us',
  'outcome',
  'project_uid',
  'body_bytes',
  'inserted_at',
] as const;

export interface Query {
  readonly sql: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export class LogFilterError extends Error {
  override readonly name = 'LogFilterError';
}

export const uuidText = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const micros = (date: Date, field: string): number => {
  const time = date.getTime();
  if (Number.isNaN(time)) throw new LogFilterError(`${field} is not a time`);
  return time * 1000;
};

const timeParam = (name: string): string => `fromUnixTimestamp64Micro({${name}:Int64}, 'UTC')`;

/** Collects conditions together with their parameters, so that no value ever becomes part of the SQL. */
const collectConditions = () => {
  const conditions: string[] = [];
  const params: Record<string, unknown> = {};
  return {
    conditions,
    params,
    add(condition: string, values: Record<string, unknown> = {}): void {
      conditions.push(condition);
      Object.assign(params, values);
    },
  };
};

/** Conditions on what is the same in both versions of a row. */
const frozenConditions = (filter: LogFilter, descending: boolean) => {
  const where = collectConditions();
  // Expired rows are deleted by merges, some time later.
  where.add('expires_at > now()');
  if (filter.projectUid !== undefined)
    where.add('project_uid = {projectUid:String}', { projectUid: filter.projectUid });
  if (filter.namespace !== undefined) where.add('namespace = {namespace:String}', { namespace: filter.namespace });
  if (filter.project !== undefined) where.add('project = {project:String}', { project: filter.project });
  if (filter.endpoint !== undefined) where.add('endpoint = {endpoint:String}', { endpoint: filter.endpoint });
  if (filter.method !== undefined) where.add('method = {method:String}', { method: filter.method });
  if (filter.since) where.add(`received_at >= ${timeParam('since')}`, { since: micros(filter.since, 'since') });
  if (filter.until) where.add(`received_at < ${timeParam('until')}`, { until: micros(filter.until, 'until') });
  if (filter.insertedSince) {
    const insertedSince = micros(filter.insertedSince, 'insertedSince') / 1000;
    where.add(`inserted_at >= fromUnixTimestamp64Milli({insertedSince:Int64}, 'UTC')`, { insertedSince });
  }
  if (filter.after) {
    const afterUs = parseTime(filter.after.receivedAt);
    if (afterUs === undefined || !uuidText.test(filter.after.id)) throw new LogFilterError('after is not a cursor');
    const compare = descending ? '<' : '>';
    // The first condition is implied by the second; the primary key's range follows from it alone.
    where.add(`received_at ${compare}= ${timeParam('afterUs')}`, { afterUs });
    where.add(`(received_at, id) ${compare} (${timeParam('afterUs')}, {afterId:UUID})`, { afterId: filter.after.id });
  }
  return where;
};

const statusRange = (status: number | StatusRange): StatusRange =>
  typeof status === 'number' ? { min: status, max: status } : status;

export const assertLimit = (limit: number): void => {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIST_LIMIT_MAX) return;
  throw new LogFilterError(`limit must be an integer from 1 to ${LIST_LIMIT_MAX}`);
};

/**
 * The summaries that a filter selects, in order; what was delivered twice comes twice, the highest version first. The reader
 * drops the repetitions: `LIMIT 1 BY id` here would make ClickHouse sort all rows instead of keeping the best (200 ms instead of
 * 20 on 200,000 rows).
 */
export const summariesQuery = (filter: LogFilter): Query => {
  const descending = filter.order !== 'oldest-first';
  const where = frozenConditions(filter, descending);
  if (filter.status !== undefined) {
    const { min, max } = statusRange(filter.status);
    where.add('status BETWEEN {statusMin:UInt16} AND {statusMax:UInt16}', { statusMin: min, statusMax: max });
    // Version 1 has status 0 and version 2 another, so only this asks for a row that a later version replaces.
    if (min === 0) where.add('(version = 2 OR id NOT IN (SELECT id FROM log WHERE version = 2))');
  }
  const direction = descending ? 'DESC' : 'ASC';
  return {
    sql: `SELECT ${SUMMARY_COLUMNS.join(', ')} FROM log WHERE ${where.conditions.join(' AND ')}
      ORDER BY received_at ${direction}, id ${direction}, version DESC LIMIT {limit:UInt32} FORMAT RowBinary`,
    params: { ...where.params, limit: filter.limit },
  };
};
