import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Cluster } from '@kubernetes/client-node';
import { loadConfig, type LoadOptions } from './kube-config.ts';

/** A cluster as a kubeconfig knows it: its API server, and the authority that vouches for it. */
export interface KubeClusterIdentity {
  /** URL of the API server. */
  readonly server: string;
  /** SHA-256 of its certificate authority's PEM, hexadecimal; empty: the machine's authorities. */
  readonly caSha256: string;
}

export interface KubeToken {
  readonly token: string;
  /** Name of the kubeconfig's context. */
  readonly context: string;
  readonly cluster: KubeClusterIdentity;
}

const identityOf = ({ server, caData, caFile }: Cluster): KubeClusterIdentity => {
  const ca = caData === undefined ? caFile && readFileSync(caFile) : Buffer.from(caData, 'base64');
  return { server, caSha256: ca === undefined || ca === '' ? '' : createHash('sha256').update(ca).digest('hex') };
};

/**
 * The bearer token that a kubeconfig's current user sends; credential plugins are run. `undefined`: this user signs in another way, with a
 * client certificate for instance, or not at all: without a kubeconfig it is nobody at http://localhost:8080. Rejects when there is no usable kubeconfig, or a plugin fails.
 */
export const readKubeToken = async (options: LoadOptions = {}): Promise<KubeToken | undefined> => {
  const config = loadConfig(options);
  const cluster = config.getCurrentCluster();
  // A token is never sent without encryption; the client would say so, to somebody who has none.
  if (cluster === null || cluster.server.startsWith('http:')) return undefined;
  const { headers } = await config.authenticate(cluster.server);
  await config.close();
  const header = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  const token = header === undefined ? undefined : /^Bearer (.+)$/i.exec(header)?.[1];
  return token === undefined ? undefined : { token, context: config.getCurrentContext(), cluster: identityOf(cluster) };
};
