import { LogFilterError, LogStoreError, type CountFilter } from '@standin/logstore';
import { parseFilter, type FilterProblem } from '@standin/exchange/search';
import type { ProjectLog } from '../../src/backend.ts';
import { readTimeRange, resolveRange } from './time-range.ts';
import { toTrafficRow, type RowCursor, type RowPage } from './traffic-row.ts';

/** An unavailable log, as a sentence. The page shows it and keeps the rest usable. */
export interface Away {
  readonly away: string;
}

/** The requests that a URL selects, or the mistake in its search. */
export type TrafficFilter =
  | { readonly ok: true; readonly filter: Omit<CountFilter, 'projectUid'> }
  | { readonly ok: false; readonly problem: FilterProblem };

/** Reads `q`, `from` and `to`. Relative times count from now. */
export const trafficFilter = (params: URLSearchParams, now: Date): TrafficFilter => {
  const parsed = parseFilter(params.get('q') ?? '');
  if (parsed.kind === 'invalid') return { ok: false, problem: parsed.problem };
  const { since, until } = resolveRange(readTimeRange(params.get('from'), params.get('to')), now);
  return { ok: true, filter: { search: parsed.filter, since, until } };
};

/** Like `trafficFilter`, for requests that only the dashboard's own pages send. Their searches are valid, so any other throws. */
export const trafficFilterOrFail = (params: URLSearchParams, now: Date): Omit<CountFilter, 'projectUid'> => {
  const asked = trafficFilter(params, now);
  if (asked.ok) return asked.filter;
  throw Response.json({ problem: asked.problem }, { status: 400 });
};

/** Reads one row more than a page, to learn whether there is another page. */
export const readRows = async (
  log: ProjectLog,
  filter: Omit<CountFilter, 'projectUid'>,
  { limit, after }: { readonly limit: number; readonly after?: RowCursor | undefined },
): Promise<RowPage> => {
  const summaries = await log.summaries({ ...filter, after, limit: limit + 1 });
  return { rows: summaries.slice(0, limit).map(toTrafficRow), hasOlder: summaries.length > limit };
};

/** The longest time that a user waits for a page. */
const AWAY_MS = 5_000;

export const awayMessage = (error: LogStoreError): string =>
  error.isTooSlow
    ? 'The search took too long. Narrow the time range or the filter.'
    : 'The log (ClickHouse) cannot be reached. It is tried again every few seconds; everything else stays usable.';

export const NO_ANSWER =
  'The log (ClickHouse) does not answer. It is tried again every few seconds; everything else stays usable.';

/** Returns what `read` returns, or why the log does not respond. Any other error is thrown again. */
export const orAway = async <T>(read: Promise<T>, timeoutMs = AWAY_MS): Promise<T | Away> => {
  const { promise: late, resolve } = Promise.withResolvers<Away>();
  const timer = setTimeout(resolve, timeoutMs, { away: NO_ANSWER });
  try {
    return await Promise.race([read, late]);
  } catch (error) {
    if (error instanceof LogFilterError) throw new Response(error.message, { status: 400 });
    if (!(error instanceof LogStoreError)) throw error;
    return { away: awayMessage(error) };
  } finally {
    clearTimeout(timer);
  }
};

export const isAway = (value: object): value is Away => 'away' in value;

/** A JSON response: the data, or 503 with the reason. */
export const answerOrAway = async (read: Promise<object>, timeoutMs?: number): Promise<Response> => {
  const answer = await orAway(read, timeoutMs);
  return Response.json(answer, { status: isAway(answer) ? 503 : 200 });
};
