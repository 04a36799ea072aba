import type { ActionFunctionArgs } from '@remix-run/node';
import { projectParams } from './params.server.ts';
import { projectAccount, getApiKey } from '../../src/accounts/accounts.ts';

/** Returns the API key, for use by a dashboard page. The key is never part of a page itself. */
export const action = async ({ params, context: { backend } }: ActionFunctionArgs) => {
  const apiKey = await getApiKey(backend, await projectAccount(backend, projectParams(params)));
  return new Response(apiKey, { headers: { 'content-type': 'text/plain; charset=utf-8' } });
};
