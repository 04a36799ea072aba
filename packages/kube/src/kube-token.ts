import { HttpMethod, RequestContext } from '@kubernetes/client-node';
import { loadConfig, type LoadOptions } from './kube-config.ts';

/**
 * The bearer token that a kubeconfig's current user sends; credential plugins are run. `undefined`: this user signs in another way, with a
 * client certificate for instance, or not at all: without a kubeconfig it is nobody at http://localhost:8080. Rejects when there is no usable kubeconfig, or a plugin fails.
 */
export const readKubeToken = async (options: LoadOptions = {}): Promise<string | undefined> => {
  const config = loadConfig(options);
  const server = config.getCurrentCluster()?.server ?? 'https://localhost';
  // A token is never sent without encryption; the client would say so, to somebody who has none.
  if (server.startsWith('http:')) return undefined;
  const context = new RequestContext(server, HttpMethod.GET);
  await config.applySecurityAuthentication(context);
  await config.close();
  const header = Object.entries(context.getHeaders()).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  return header === undefined ? undefined : /^Bearer (.+)$/i.exec(header)?.[1];
};
