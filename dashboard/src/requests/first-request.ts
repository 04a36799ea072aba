import type { ProjectName } from '../../src/resources/names.ts';
import type { Backend } from '../../src/backend.ts';
import { accountOfProject } from '../../src/accounts/accounts.ts';
import { firstRequestOf } from './load-traffic.server.ts';

const SEND_MS_MAX = 10_000;

/** `error`: why nothing was sent, or why no response came. */
export interface Sent {
  readonly error?: string | undefined;
}

/** Calls an endpoint as its callers do, through the gateway and with the key, so that the list has a request to show. */
export const sendFirstRequest = async (backend: Backend, params: ProjectName): Promise<Sent> => {
  const { first } = await firstRequestOf(backend, params);
  if (first === undefined) return { error: 'No endpoint of this project is ready to be called.' };
  const apiKey = await backend.resources.readApiKey(await accountOfProject(backend, params));
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
    return rejected === null ? {} : { error: `The gateway refused it: ${rejected}.` };
  } catch {
    return { error: `No response from ${new URL(first.url).origin}.` };
  }
};
