import type { ActionFunctionArgs, LoaderFunctionArgs } from '@remix-run/node';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import { refusalMessage } from '../../src/pages/failures.ts';
import { callEndpoint } from '../../src/requests/call-endpoint.ts';
import { loadActivity } from '../endpoints/endpoint-activity.server.ts';
import { PARAMETER_PREFIX, SEND_FIELDS } from '../endpoints/send-fields.ts';
import { lineFeeds } from '../ui/text-lines.ts';
import { endpointParams } from './params.server.ts';

/** Returns the endpoint's recent requests. */
export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = endpointParams(params);
  await getEndpoint(backend, names);
  return Response.json(await loadActivity(backend, names));
};

/** Sends a request to the endpoint and returns its response. */
export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const form = await request.formData();
  const text = (name: string): string => {
    const value = form.get(name);
    return typeof value === 'string' ? value : '';
  };
  const call = callEndpoint(backend, endpointParams(params), {
    parameter: (name) => text(`${PARAMETER_PREFIX}${name}`),
    query: text(SEND_FIELDS.query),
    headers: text(SEND_FIELDS.headers),
    body: lineFeeds(text(SEND_FIELDS.body)),
  });
  return Response.json(await call.catch((error: unknown) => ({ error: refusalMessage(error) })));
};
