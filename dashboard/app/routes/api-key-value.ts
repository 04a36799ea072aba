import type { ActionFunctionArgs } from '@remix-run/node';
import { notFound, orFail } from '../lib/failures.server.ts';
import { projectParams } from '../lib/params.server.ts';
import { getAccount } from '../projects/read-account.server.ts';

/** Returns the key. The key is never part of a page, only the response to a request from one of the dashboard's pages. */
export const action = async ({ params, context: { backend } }: ActionFunctionArgs) => {
  const account = await getAccount(backend, projectParams(params));
  const apiKey = await orFail(backend.resources.readApiKey(account));
  if (apiKey === undefined) throw notFound('key of this account yet');
  return new Response(apiKey, { headers: { 'content-type': 'text/plain; charset=utf-8' } });
};
