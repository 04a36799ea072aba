import { errorMessage } from '@standin/contract';
import { KubeClient, resourcePath } from '@standin/kube';
import { loadConfig, type SharedConnectionConfig } from '@standin/kube/kube-config';
import { bearerToken } from '@standin/kube/kube-token';
import { podFetch } from '@standin/kube/pod-connection';
import { PlainError } from '../plain-error.ts';
import { apiClient, RESPONSE_LIMITS, type ApiClient } from './api-client.ts';
import { findDashboard } from './find-dashboard.ts';
import type { ServerOptions } from './server-options.ts';

/** A user waits for the result. */
const ATTEMPTS_MAX = 2;
const TOKEN_SECONDS = 3_600;

export const SYSTEM_NAMESPACE = 'standin-system';

/** Returns a client for the cluster of the options, or of the current context. Throws a `PlainError` without a valid kubeconfig. */
export const openKubeClient = ({ kubeconfig, context }: ServerOptions): KubeClient => {
  try {
    const config = loadConfig({
      ...(kubeconfig !== undefined && { kubeconfigPath: kubeconfig }),
      ...(context !== undefined && { context }),
    });
    return new KubeClient({ config, attemptsMax: ATTEMPTS_MAX });
  } catch (error) {
    throw new PlainError(`cannot use the kubeconfig: ${errorMessage(error)}`, { cause: error });
  }
};

/**
 * Resolves with the JSON API of the dashboard in a cluster. Its connections are port-forwards of this process to a pod, because the
 * API server's proxy removes the header with the token. The API server proves that the pod is the dashboard, so the token needs no
 * consent (ADR 038).
 */
export const openCluster = async (options: ServerOptions): Promise<ApiClient> => {
  const { systemNamespace = SYSTEM_NAMESPACE, serviceAccount, token } = options;
  const given = token === '' ? undefined : token;
  const findToken = (client: KubeClient): Promise<string> =>
    serviceAccount === undefined ? ownToken(client.config) : tokenFor(client, serviceAccount);
  const withClient = async <T>(use: (client: KubeClient) => Promise<T>): Promise<T> => {
    const client = openKubeClient(options);
    try {
      return await use(client);
    } finally {
      await client.close();
    }
  };
  return withClient(async (client) => {
    const target = await findDashboard(client, systemNamespace);
    return apiClient(new URL(`http://dashboard.${systemNamespace}`), {
      given: given ?? (await findToken(client)),
      findToken: given === undefined ? () => withClient(findToken) : undefined,
      limits: RESPONSE_LIMITS,
      fetch: refindingFetch(podFetch(client.config, target), () =>
        withClient(async (again) => podFetch(again.config, await findDashboard(again, systemNamespace))),
      ),
      publicUrl: () => {
        if (target.publicUrl !== undefined) return new URL(target.publicUrl);
        throw new PlainError(
          'the dashboard has no URL that browsers can reach: set dashboard.url in the values of the chart, pass --server, or run standin dashboard to forward a port',
        );
      },
    });
  });
};

/** Returns a `fetch` that calls `find` for another one after a failure, because the pod may have been replaced. */
export const refindingFetch = (first: typeof fetch, find: () => Promise<typeof fetch>): typeof fetch => {
  let current: typeof fetch | undefined = first;
  return async (...request) => {
    try {
      current ??= await find();
      return await current(...request);
    } catch (error) {
      current = undefined;
      throw error;
    }
  };
};

/** Resolves with the token of the kubeconfig's user. */
const ownToken = async (config: SharedConnectionConfig): Promise<string> => {
  const found = await bearerToken(config).catch((error: unknown) => {
    throw new PlainError(`no token for the dashboard: ${errorMessage(error)}`, { cause: error });
  });
  if (found !== undefined) return found.token;
  throw new PlainError(
    `no token for the dashboard: the user of context ${config.getCurrentContext()} does not sign in with a token, but for example with a client certificate. Add --service-account NAMESPACE/NAME to use a ServiceAccount's token, or pass a token with --token or STANDIN_TOKEN`,
  );
};

/** Resolves with a token of a ServiceAccount that is valid for an hour, as from `kubectl create token`. */
const tokenFor = async (client: KubeClient, serviceAccount: string): Promise<string> => {
  const [namespace = '', name = '', ...more] = serviceAccount.split('/');
  if (namespace === '' || name === '' || more.length > 0)
    throw new PlainError(`--service-account must be NAMESPACE/NAME, not ${serviceAccount}`);
  const account = { group: '', version: 'v1', plural: 'serviceaccounts', namespace, name, subresource: 'token' };
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: TOKEN_SECONDS },
  };
  const { status } = await client.create<{ readonly status: { readonly token: string } }>(
    resourcePath(account),
    request,
  );
  return status.token;
};
