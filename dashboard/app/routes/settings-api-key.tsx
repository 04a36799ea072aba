import type { ActionFunctionArgs, LoaderFunctionArgs } from '@remix-run/node';
import { useLoaderData } from '@remix-run/react';
import { API_KEY_DATA_KEY } from '@standin/contract';
import { refusalOf } from '../lib/failures.server.ts';
import { useLiveResources } from '../shell/live.ts';
import { projectParams } from '../lib/params.server.ts';
import { accountSpec, accountStatus } from '../lib/resources.server.ts';
import { readinessOf } from '../lib/resource-view.ts';
import { ApiKey } from '../projects/api-key.tsx';
import { getAccount } from '../projects/read-account.server.ts';
import { readRegenerations, regenerateKey } from '../projects/regenerate-key.server.ts';

export const loader = async ({ params, context: { backend, mode } }: LoaderFunctionArgs) => {
  const account = await getAccount(backend, projectParams(params));
  const { apiKey, usage } = accountStatus(account);
  const spec = accountSpec(account);
  const { namespace, name } = account.metadata;
  const secretName = apiKey?.secretName;
  return {
    ...{ namespace, account: name, secretName, fingerprint: apiKey?.fingerprint, issuedAt: apiKey?.issuedAt },
    isOwnSecret: spec.apiKey !== undefined,
    regenerations: spec.apiKey === undefined ? await readRegenerations(backend, account) : undefined,
    plan: spec.plan,
    quota: usage?.quota ?? spec.monthlyQuota,
    readiness: readinessOf(account),
    command:
      secretName === undefined || mode === 'local'
        ? undefined
        : `kubectl -n ${namespace} get secret ${secretName} -o jsonpath='{.data.${API_KEY_DATA_KEY}}' | base64 -d`,
  };
};

/** The key is never part of a page. It is only returned on request. */
export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const account = await getAccount(backend, projectParams(params));
  if ((await request.formData()).get('intent') === 'regenerate')
    return { refusal: await regenerateKey(backend, account) };
  try {
    return { apiKey: await backend.resources.readApiKey(account) };
  } catch (error) {
    return { refusal: refusalOf(error) };
  }
};

const ApiKeySettings = () => {
  const account = useLoaderData<typeof loader>();
  useLiveResources(account.namespace);
  return <ApiKey {...account} />;
};
export default ApiKeySettings;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
