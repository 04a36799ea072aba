import type { LoaderFunctionArgs } from '@remix-run/node';
import { openLog } from '../../src/projects/projects.ts';
import { projectParams } from './params.server.ts';
import { respondOrUnavailable, readRows, trafficFilterOrFail } from '../requests/read-traffic.server.ts';

const ROWS_DEFAULT = 200;
/** The maximum number of rows on a page. Pages grow when users scroll far. */
const ROWS_MAX = 5_000;

/**
 * Returns a page of the list, newest first. `before` is the time and the id of the last row of the previous page, separated by `~`.
 */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const { searchParams } = new URL(request.url);
  const filter = trafficFilterOrFail(searchParams, new Date());
  const [receivedAt, id] = (searchParams.get('before') ?? '').split('~');
  const after = receivedAt !== undefined && id !== undefined ? { receivedAt, id } : undefined;
  const asked = Math.trunc(Number(searchParams.get('limit') ?? ROWS_DEFAULT)) || ROWS_DEFAULT;
  const limit = Math.min(Math.max(asked, 1), ROWS_MAX);
  const log = await openLog(backend, projectParams(params));
  return respondOrUnavailable(readRows(log, filter, { limit, after }));
};
