import type { Backend } from '../backend.ts';
import { getEndpoint } from '../endpoints/endpoints.ts';
import { exampleRequest } from '../endpoints/example-request.ts';
import { fillSlug } from '../endpoints/fill-slug.ts';
import type { EndpointName } from '../resources/names.ts';
import { endpointSpec, endpointStatus } from '../resources/specs.ts';
import { sendRequest, type SendResult } from './send-request.ts';

/** The fields of a request that the user describes. */
export interface CallFields {
  /** Returns the value of a path parameter. Empty if there is none. */
  readonly parameter: (name: string) => string;
  readonly query: string;
  /** One header on each line. */
  readonly headers: string;
  readonly body: string;
}

/** Sends a request to an endpoint. Rejects with `NotFound` or `SourceError`. */
export const callEndpoint = async (backend: Backend, names: EndpointName, fields: CallFields): Promise<SendResult> => {
  const object = await getEndpoint(backend, names);
  const { method = '', slug = '' } = endpointSpec(object);
  if (endpointStatus(object).url === undefined)
    return { error: 'The endpoint has no URL yet. See its conditions for the reason.' };
  const path = fillSlug(slug, fields.parameter);
  if ('unavailable' in path) return { error: path.unavailable };
  const request = exampleRequest(slug, { method, target: '', headers: fields.headers, body: fields.body });
  if ('unavailable' in request) return { error: request.unavailable };
  return sendRequest(backend, names, {
    method,
    path: path.path,
    query: fields.query,
    headers: request.headers,
    body: method === 'GET' || fields.body === '' ? undefined : new Uint8Array(request.body),
  });
};
