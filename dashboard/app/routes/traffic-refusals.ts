import type { LoaderFunctionArgs } from '@remix-run/node';
import { findAcceptances, refusedCount, refusedRequests } from '../../src/refusals/refused-requests.ts';
import { toFailure } from '../../src/pages/failures.ts';
import { projectParams } from './params.server.ts';

/** Returns the refused requests of a project, for the line above the list of captured ones. */
export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  try {
    const names = projectParams(params);
    const refused = await refusedRequests(backend, names);
    const acceptances = await findAcceptances(backend, names, refused.items);
    const items = refused.items.map((item, index) => ({ ...item, acceptance: acceptances[index] }));
    return { ...refused, items, total: refusedCount(refused) };
  } catch (error) {
    // The list of captured requests stays usable, and it reports a project that was removed or may not be read.
    const failure = toFailure(error);
    if (failure === undefined) throw error;
    // Browsers report a 503 in the console, although the page works.
    return Response.json({ unavailable: true }, { status: failure.status === 503 ? 200 : failure.status });
  }
};

export { keepFetched as clientLoader } from '../ui/kept-form.ts';
