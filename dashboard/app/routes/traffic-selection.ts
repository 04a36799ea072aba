import type { LoaderFunctionArgs } from '@remix-run/node';
import { openLog } from '../../src/projects/projects.ts';
import { notFound } from '../../src/pages/failures.ts';
import { projectParams } from './params.server.ts';
import { loadSelection } from '../traffic/load-traffic.server.ts';

/** Returns one request for the panel next to the list. */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const id = new URL(request.url).searchParams.get('sel');
  if (id === null) throw notFound('request');
  return Response.json(await loadSelection(await openLog(backend, projectParams(params)), id));
};

export { keepFetched as clientLoader } from '../ui/kept-form.ts';
