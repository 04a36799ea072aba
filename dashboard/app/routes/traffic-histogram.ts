import type { LoaderFunctionArgs } from '@remix-run/node';
import { openLog } from '../../src/projects/projects.ts';
import { projectParams } from './params.server.ts';
import { readHistogram } from '../../src/requests/read-histogram.ts';
import { respondOrUnavailable, trafficFilterOrFail } from '../requests/read-traffic.server.ts';

/** The time limit for the response, which is longer than the 10 s that ClickHouse may take to count requests. */
const ANSWER_MS_MAX = 15_000;

/** Returns the data for the chart above the list: the requests over time, the number of matches, and the total. */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const now = new Date();
  const query = new URL(request.url).searchParams;
  const filter = trafficFilterOrFail(query, now);
  const log = await openLog(backend, projectParams(params));
  return respondOrUnavailable(
    readHistogram(log, filter, now, { mayEstimate: query.get('exact') === null }),
    ANSWER_MS_MAX,
  );
};
