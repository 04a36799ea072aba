import { accountOfProject } from '../accounts/accounts.ts';
import type { Backend } from '../backend.ts';
import { listEndpoints } from '../endpoints/endpoints.ts';
import type { ProjectName } from '../resources/names.ts';
import { readinessOf } from '../resources/resource-view.ts';
import { endpointSpec, endpointStatus } from '../resources/specs.ts';

/** The first request that an empty project can send. */
export interface FirstRequest {
  readonly endpoint: string;
  readonly method: string;
  readonly url: string;
}

/** An endpoint that one click can call: it responds, and needs no body to make sense. */
export const firstRequestOf = async (backend: Backend, project: ProjectName) => {
  const endpoints = await listEndpoints(backend, project);
  const callable = endpoints.flatMap((object): FirstRequest[] => {
    const { url } = endpointStatus(object);
    const { method = '' } = endpointSpec(object);
    const isReady = url !== undefined && readinessOf(object).state === 'ready';
    return isReady ? [{ endpoint: object.metadata.name, method, url }] : [];
  });
  const first = callable.find(({ method }) => method === 'GET') ?? callable.find(({ method }) => method === 'POST');
  return { hasEndpoints: endpoints.length > 0, first };
};

const SEND_MS_MAX = 10_000;

/** `error`: why nothing was sent, or why no response came. */
export interface Sent {
  readonly error?: string | undefined;
}

/** Calls an endpoint as its callers do, through the gateway and with the key, so that the list has a request to show. */
export const sendFirstRequest = async (backend: Backend, project: ProjectName): Promise<Sent> => {
  const { first } = await firstRequestOf(backend, project);
  if (first === undefined) return { error: 'No endpoint in this project is ready.' };
  const apiKey = await backend.resources.readApiKey(await accountOfProject(backend, project));
  if (apiKey === undefined) return { error: 'The account has no API key yet.' };
  const isPost = first.method === 'POST';
  try {
    const answer = await fetch(first.url, {
      method: first.method,
      redirect: 'manual',
      headers: { 'x-api-key': apiKey, ...(isPost && { 'content-type': 'application/json' }) },
      ...(isPost && { body: '{"try": true}' }),
      signal: AbortSignal.timeout(SEND_MS_MAX),
    });
    await answer.body?.cancel();
    const rejected = answer.headers.get('standin-rejected');
    return rejected === null ? {} : { error: `The gateway rejected the request: ${rejected}.` };
  } catch {
    return { error: `No response from ${new URL(first.url).origin}.` };
  }
};
