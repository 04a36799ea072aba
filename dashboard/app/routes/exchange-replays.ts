import type { LoaderFunctionArgs } from '@remix-run/node';
import { openLog } from '../../src/projects/projects.ts';
import { exchangeParams } from './params.server.ts';
import { respondOrUnavailable } from '../requests/read-traffic.server.ts';

/** The maximum number of replays on the page. Requests are rarely replayed more often. */
const SHOWN_MAX = 50;

/** Returns the replays of one captured request, for the Replays tab. */
export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = exchangeParams(params);
  const log = await openLog(backend, names);
  return respondOrUnavailable(log.replays.ofRequest(names.id, SHOWN_MAX).then((replays) => ({ replays })));
};

export { keepFetched as clientLoader } from '../ui/kept-form.ts';
