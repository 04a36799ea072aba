import { STATUS_CLASSES } from '@standin/logstore';
import type { Backend } from '../../src/backend.ts';
import { refusalMessage } from '../../src/pages/failures.ts';
import { openLog } from '../../src/projects/projects.ts';
import type { EndpointName } from '../../src/resources/names.ts';
import { orUnavailable, type Unavailable } from '../requests/read-traffic.server.ts';
import { toTrafficRow, type TrafficRow } from '../requests/traffic-row.ts';

/** The recent requests to an endpoint. */
export interface EndpointActivity {
  /** The latest requests, newest first. */
  readonly rows: readonly TrafficRow[];
  /** Requests per hour in the last 24 hours, oldest first. */
  readonly byHour: readonly number[];
  /** The last response in the last 24 hours with a status of 400 or more. */
  readonly lastError: TrafficRow | undefined;
}

const ROWS_MAX = 5;
const HOURS = 24;
const HOUR_MS = 3_600_000;
/** The page is shown without its requests if the log takes longer. */
const LOG_MS_MAX = 1_500;

/** Returns the recent requests to an endpoint, or the reason why they cannot be shown. */
export const loadActivity = (backend: Backend, names: EndpointName): Promise<EndpointActivity | Unavailable> =>
  orUnavailable(
    readActivity(backend, names).catch((error: unknown) => ({ unavailable: refusalMessage(error) })),
    LOG_MS_MAX,
  );

const readActivity = async (backend: Backend, names: EndpointName): Promise<EndpointActivity> => {
  const log = await openLog(backend, names);
  const to = new Date();
  const since = new Date(to.getTime() - HOURS * HOUR_MS);
  const ofEndpoint = { endpoint: names.endpoint, sinceUs: since.getTime() * 1_000 };
  const [rows, buckets, errors] = await Promise.all([
    log.summaries({ endpoint: names.endpoint, limit: ROWS_MAX }),
    log.histogram(ofEndpoint, { from: since, to, buckets: HOURS }),
    log.summaries({ ...ofEndpoint, status: { min: 400, max: 599 }, limit: 1 }),
  ]);
  return {
    rows: rows.map(toTrafficRow),
    byHour: buckets.map(({ counts }) => STATUS_CLASSES.reduce((sum, name) => sum + counts[name], 0)),
    lastError: errors.map(toTrafficRow)[0],
  };
};
