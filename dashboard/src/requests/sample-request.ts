import { exampleUrl } from '@standin/exchange/formats';
import { accountOfProject } from '../accounts/accounts.ts';
import type { Backend } from '../backend.ts';
import { listEndpoints } from '../endpoints/endpoints.ts';
import type { ProjectName } from '../resources/names.ts';
import { readinessOf } from '../resources/resource-view.ts';
import { endpointSpec, endpointStatus } from '../resources/specs.ts';

/** A request that can be sent to an empty project with one click. */
export interface SampleRequest {
  readonly endpoint: string;
  readonly method: string;
  /** The URL, with an example value for each path parameter. */
  readonly url: string;
  /** Whether sending it changes nothing: the endpoint is a mock, or the method is GET. */
  readonly isSafe: boolean;
}

/**
 * Returns whether the project has endpoints, and a request to an endpoint that is ready. Prefers GET, which needs no body, then mocks
 * and paths without parameters. `first` is undefined if no endpoint is ready.
 */
export const sampleRequestOf = async (backend: Backend, project: ProjectName) => {
  const endpoints = await listEndpoints(backend, project);
  const callable = endpoints.flatMap((object) => {
    const { url } = endpointStatus(object);
    if (url === undefined || readinessOf(object).state !== 'ready') return [];
    const { method = '', slug = '', action } = endpointSpec(object);
    const isGet = method === 'GET';
    const isSafe = isGet || action === 'JSON';
    const rank = Number(isGet) * 4 + Number(isSafe) * 2 + Number(!slug.includes('{'));
    return [{ rank, request: { endpoint: object.metadata.name, method, url: exampleUrl(url), isSafe } }];
  });
  const [first] = callable.sort((a, b) => b.rank - a.rank);
  return { hasEndpoints: endpoints.length > 0, first: first?.request };
};

const SEND_MS_MAX = 10_000;

/** `error` is the reason why nothing was sent or no response was received. */
export interface Sent {
  readonly error?: string | undefined;
}

/** Calls an endpoint through the gateway with the API key, as its callers do, so that the list has a request to show. */
export const sendSampleRequest = async (backend: Backend, project: ProjectName): Promise<Sent> => {
  const { first } = await sampleRequestOf(backend, project);
  if (first === undefined)
    return { error: 'No endpoint in this project is ready. See the conditions of the endpoints.' };
  if (!first.isSafe) return { error: 'The request would change data at the upstream. Send it yourself.' };
  const apiKey = await backend.resources.readApiKey(await accountOfProject(backend, project));
  if (apiKey === undefined) return { error: 'The account has no API key yet. See Settings → API key for the reason.' };
  const hasBody = first.method !== 'GET' && first.method !== 'DELETE';
  try {
    const answer = await fetch(first.url, {
      method: first.method,
      redirect: 'manual',
      headers: { 'x-api-key': apiKey, ...(hasBody && { 'content-type': 'application/json' }) },
      ...(hasBody && { body: '{"try": true}' }),
      signal: AbortSignal.timeout(SEND_MS_MAX),
    });
    await answer.body?.cancel();
    const rejected = answer.headers.get('standin-rejected');
    return rejected === null
      ? {}
      : {
          error: `The gateway rejected the request with the code ${rejected}. docs/reference/errors.md explains the codes.`,
        };
  } catch {
    return {
      error: `No response from ${new URL(first.url).origin}. If the dashboard cannot reach this address, send the request yourself.`,
    };
  }
};
