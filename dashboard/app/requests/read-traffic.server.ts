import { LogFilterError, LogStoreError, type CountFilter } from '@standin/logstore';
import { parseFilter, type FilterProblem } from '@standin/exchange/search';
import type { ProjectLog } from '../../src/backend.ts';
import { inTime, LOG_TIMED_OUT } from '../../src/log-timeout.ts';
import { readTimeRange, resolveRange } from './time-range.ts';
import { toTrafficRow, type RowCursor, type RowPage } from './traffic-row.ts';

/** A sentence that explains why the log is unavailable. The rest of the page stays usable. */
export interface Unavailable {
  readonly unavailable: string;
}

/** The requests that a URL selects, or the error in its search. */
export type TrafficFilter =
  | { readonly ok: true; readonly filter: Omit<CountFilter, 'projectUid'> }
  | { readonly ok: false; readonly problem: FilterProblem };

/** Reads `q`, `from` and `to`. Relative times are relative to `now`. */
export const trafficFilter = (params: URLSearchParams, now: Date): TrafficFilter => {
  const parsed = parseFilter(params.get('q') ?? '');
  if (parsed.kind === 'invalid') return { ok: false, problem: parsed.problem };
  const range = resolveRange(readTimeRange(params.get('from'), params.get('to')), now);
  return { ok: true, filter: { search: parsed.filter, ...range } };
};

/**
 * Like `trafficFilter`, but for requests that only the dashboard's own pages send. Throws a response with status 400 if the search
 * is invalid.
 */
export const trafficFilterOrFail = (params: URLSearchParams, now: Date): Omit<CountFilter, 'projectUid'> => {
  const asked = trafficFilter(params, now);
  if (asked.ok) return asked.filter;
  throw Response.json({ problem: asked.problem }, { status: 400 });
};

/** Reads one page, plus one row to find out whether there is another page. */
export const readRows = async (
  log: ProjectLog,
  filter: Omit<CountFilter, 'projectUid'>,
  { limit, after }: { readonly limit: number; readonly after?: RowCursor | undefined },
): Promise<RowPage> => {
  const summaries = await log.summaries({ ...filter, after, limit: limit + 1 });
  return { rows: summaries.slice(0, limit).map(toTrafficRow), hasOlder: summaries.length > limit };
};

/** The maximum time for which a page waits for the log. */
const LOG_MS_MAX = 5_000;

export const NO_RESPONSE = 'The log (ClickHouse) is not responding.';

export const unavailableMessage = (error: LogStoreError): string => {
  if (error.isTooSlow) return 'The search took too long. Narrow the time range or the search.';
  return error.code === LOG_TIMED_OUT ? NO_RESPONSE : 'The log (ClickHouse) can’t be read.';
};

/**
 * Returns the result of `read`, or the reason why the log is unavailable. Converts a `LogFilterError` to a response with status
 * 400. Rejects with any other error.
 */
export const orUnavailable = async <T>(read: Promise<T>, timeoutMs = LOG_MS_MAX): Promise<T | Unavailable> => {
  try {
    return await inTime(read, timeoutMs);
  } catch (error) {
    if (error instanceof LogFilterError) throw new Response(error.message, { status: 400 });
    if (!(error instanceof LogStoreError)) throw error;
    return { unavailable: unavailableMessage(error) };
  }
};

export const isUnavailable = (value: object): value is Unavailable => 'unavailable' in value;

/** Responds with the data as JSON, or with 503 and the reason. */
export const respondOrUnavailable = async (read: Promise<object>, timeoutMs?: number): Promise<Response> => {
  const answer = await orUnavailable(read, timeoutMs);
  return Response.json(answer, { status: isUnavailable(answer) ? 503 : 200 });
};
