import { exampleUrl } from '@standin/exchange/formats';
import type { Backend } from '../backend.ts';
import { endpointUrl, listEndpoints } from '../endpoints/endpoints.ts';
import { examplePath } from '../endpoints/example-request.ts';
import { getProject, projectAddress } from '../projects/projects.ts';
import type { ProjectName } from '../resources/names.ts';
import { readiness } from '../resources/resource-view.ts';
import { endpointSpec } from '../resources/specs.ts';
import { sendRequest } from './send-request.ts';

/** A request that can be sent to an empty project with one click. */
export interface SampleRequest {
  readonly endpoint: string;
  readonly method: string;
  /** The URL, and its path after the project URI, with an example value for each path parameter. */
  readonly url: string;
  readonly path: string;
  /** Whether sending it changes nothing: the endpoint is a mock, or the method is GET. */
  readonly isSafe: boolean;
}

/**
 * Returns whether the project has endpoints, and a request to an endpoint that is ready. Prefers GET, which needs no body, then mocks
 * and paths without parameters. `first` is undefined if no endpoint is ready.
 */
export const sampleRequest = async (backend: Backend, project: ProjectName) => {
  const [endpoints, address] = await Promise.all([
    listEndpoints(backend, project),
    getProject(backend, project).then((object) => projectAddress(backend, object)),
  ]);
  const callable = endpoints.flatMap((object) => {
    const url = endpointUrl(object, address?.url);
    if (url === undefined || readiness(object).state !== 'ready') return [];
    const { method = '', slug = '', action } = endpointSpec(object);
    const isGet = method === 'GET';
    const isSafe = isGet || action === 'JSON';
    const rank = Number(isGet) * 4 + Number(isSafe) * 2 + Number(!slug.includes('{'));
    return [
      {
        rank,
        request: { endpoint: object.metadata.name, method, url: exampleUrl(url), path: examplePath(slug), isSafe },
      },
    ];
  });
  const [first] = callable.sort((a, b) => b.rank - a.rank);
  return { hasEndpoints: endpoints.length > 0, first: first?.request };
};

/** `error` is the reason why nothing was sent or no response was received. */
export interface Sent {
  readonly error?: string | undefined;
}

/** Calls an endpoint, as its callers do, so that the list has a request to show. */
export const sendSampleRequest = async (backend: Backend, project: ProjectName): Promise<Sent> => {
  const { first } = await sampleRequest(backend, project);
  if (first === undefined)
    return { error: 'No endpoint in this project is ready. See the conditions of the endpoints.' };
  const { method, path, isSafe } = first;
  if (!isSafe) return { error: 'The request would change data at the upstream. Send it yourself.' };
  const hasBody = method !== 'GET' && method !== 'DELETE';
  const result = await sendRequest(backend, project, {
    method,
    path,
    headers: hasBody ? [['content-type', 'application/json']] : [],
    body: hasBody ? new TextEncoder().encode('{"try": true}') : undefined,
  });
  if ('error' in result) return { error: result.error };
  const { rejected } = result;
  return rejected === undefined
    ? {}
    : {
        error: `The gateway rejected the request with the code ${rejected}. docs/reference/errors.md explains the codes.`,
      };
};
