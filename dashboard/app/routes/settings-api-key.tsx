import type { ActionFunctionArgs, LoaderFunctionArgs } from '@remix-run/node';
import { useLoaderData } from '@remix-run/react';
import { API_KEY_DATA_KEY } from '@standin/contract';
import { refusalMessage, writeRefusal } from '../../src/pages/failures.ts';
import { useLiveResources } from '../shell/live.ts';
import { projectParams } from './params.server.ts';
import { accountSpec, accountStatus } from '../../src/resources/specs.ts';
import { readiness } from '../../src/resources/resource-view.ts';
import { ApiKey } from '../projects/api-key.tsx';
import { projectAccount } from '../../src/accounts/accounts.ts';
import { readRegenerations, regenerateKey } from '../../src/accounts/key-regenerations.ts';

export const loader = async ({ params, context: { backend, mode } }: LoaderFunctionArgs) => {
  const account = await projectAccount(backend, projectParams(params));
  const { apiKey, usage } = accountStatus(account);
  const spec = accountSpec(account);
  const { namespace, name } = account.metadata;
  const secretName = apiKey?.secretName;
  return {
    namespace,
    account: name,
    secretName,
    fingerprint: apiKey?.fingerprint,
    issuedAt: apiKey?.issuedAt,
    isOwnSecret: spec.apiKey !== undefined,
    regenerations: spec.apiKey === undefined ? await readRegenerations(backend, account) : undefined,
    plan: spec.plan,
    quota: usage?.quota ?? spec.monthlyQuota,
    readiness: readiness(account),
    command:
      secretName === undefined || mode === 'local'
        ? undefined
        : `kubectl -n ${namespace} get secret ${secretName} -o jsonpath='{.data.${API_KEY_DATA_KEY}}' | base64 -d`,
  };
};

/** Returns or regenerates the key. The key is never part of a page, so the page requests it separately. */
export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const account = await projectAccount(backend, projectParams(params));
  const { namespace, name } = account.metadata;
  if ((await request.formData()).get('intent') === 'regenerate')
    return { refusal: await writeRefusal(regenerateKey(backend, { namespace, account: name })) };
  try {
    return { apiKey: await backend.resources.readApiKey(account) };
  } catch (error) {
    return { refusal: refusalMessage(error) };
  }
};

export { keepSubmitted as clientAction } from '../ui/kept-form.ts';

const ApiKeySettings = () => {
  const account = useLoaderData<typeof loader>();
  useLiveResources(account.namespace);
  return <ApiKey {...account} />;
};
export default ApiKeySettings;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
