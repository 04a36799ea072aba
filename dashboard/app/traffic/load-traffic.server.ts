import { formatShortTime } from '@standin/contract';
import { openLog } from '../../src/projects/projects.ts';
import { sampleRequest } from '../../src/requests/sample-request.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import type { Backend, ProjectLog } from '../../src/backend.ts';
import { loadExchange } from '../exchange/load-exchange.server.ts';
import { isUnavailable, orUnavailable, readRows, trafficFilter } from '../requests/read-traffic.server.ts';
import { resolveRange } from '../requests/time-range.ts';
import type { Selection, TrafficData } from './traffic-data.ts';
import { readTrafficQuery } from './traffic-query.ts';

/** The number of rows on the first page, which fill several screens. The next page is loaded while the user scrolls. */
const FIRST_ROWS = 100;

export const loadSelection = async (log: ProjectLog, id: string): Promise<Selection> => {
  const found = await orUnavailable(loadExchange(log, id).then((exchange) => ({ exchange })));
  return isUnavailable(found)
    ? { id, exchange: undefined, unavailable: found.unavailable }
    : { id, exchange: found.exchange };
};

/** Loads the first rows that a URL selects, and the request that the URL opens. */
export const loadTraffic = async (
  backend: Backend,
  params: ProjectName,
  search: URLSearchParams,
): Promise<TrafficData> => {
  const now = new Date();
  const { q, range, sel } = readTrafficQuery(search);
  const log = await openLog(backend, params);
  const asked = trafficFilter(search, now);
  const [page, selection] = await Promise.all([
    asked.ok ? orUnavailable(readRows(log, asked.filter, { limit: FIRST_ROWS })) : { rows: [], hasOlder: false },
    sel === undefined ? undefined : loadSelection(log, sel),
  ]);
  const isUnfiltered = q === '' && range.from === undefined && range.to === undefined;
  const hasNothing = !isUnavailable(page) && page.rows.length === 0 && isUnfiltered;
  const { sinceUs, untilUs } = resolveRange(range, now);
  return {
    params,
    q,
    range,
    since: sinceUs === undefined ? undefined : formatShortTime(sinceUs),
    until: untilUs === undefined ? undefined : formatShortTime(untilUs),
    loadedAt: now.toISOString(),
    page: isUnavailable(page) ? { rows: [], hasOlder: false } : page,
    problem: asked.ok ? undefined : asked.problem,
    unavailable: isUnavailable(page) ? page.unavailable : undefined,
    empty: hasNothing ? await sampleRequest(backend, params) : undefined,
    selection,
  };
};
