// client-node adds the user's token to a request, but does not return it.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Cluster } from '@kubernetes/client-node';
import { loadConfig, type LoadOptions, type SharedConnectionConfig } from './kube-config.ts';

/** The identity of a cluster in a kubeconfig: its API server and the certificate authority that the client trusts. */
export interface KubeClusterIdentity {
  /** The URL of the API server. */
  readonly server: string;
  /** The SHA-256 of the PEM of its certificate authority, in hexadecimal. Empty if the machine's authorities are used. */
  readonly caSha256: string;
}

export interface KubeToken {
  readonly token: string;
  /** The name of the kubeconfig context. */
  readonly context: string;
  readonly cluster: KubeClusterIdentity;
}

const clusterIdentity = ({ server, caData, caFile }: Cluster): KubeClusterIdentity => {
  const ca = caData === undefined ? caFile && readFileSync(caFile) : Buffer.from(caData, 'base64');
  return { server, caSha256: ca === undefined || ca === '' ? '' : createHash('sha256').update(ca).digest('hex') };
};

/**
 * Returns the bearer token that a kubeconfig's current user sends. Runs credential plugins. Resolves with `undefined` if the user
 * authenticates in a different way, for example with a client certificate, or not at all, and if the server's URL is http. Without
 * a kubeconfig and outside a pod, client-node uses http://localhost:8080, so the result is `undefined`, too.
 *
 * Rejects if the kubeconfig cannot be used, or if a plugin fails.
 */
export const readKubeToken = async (options: LoadOptions = {}): Promise<KubeToken | undefined> => {
  const config = loadConfig(options);
  try {
    return await bearerToken(config);
  } finally {
    await config.close();
  }
};

/** Does the same as `readKubeToken`, for a kubeconfig that is already loaded. */
export const bearerToken = async (config: SharedConnectionConfig): Promise<KubeToken | undefined> => {
  const cluster = config.getCurrentCluster();
  // A token is never sent without encryption. `authenticate` would report an unencrypted URL as an error even if the user has no
  // token.
  if (cluster === null || cluster.server.startsWith('http:')) return undefined;
  const { headers } = await config.authenticate(cluster.server);
  const header = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  const token = header === undefined ? undefined : /^Bearer (.+)$/i.exec(header)?.[1];
  return token === undefined
    ? undefined
    : { token, context: config.getCurrentContext(), cluster: clusterIdentity(cluster) };
};
