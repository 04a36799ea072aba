import { createHash } from 'node:crypto';
import { KubeClient, type SharedConnectionConfig } from '@standin/kube';
import { anonymousConfig, tokenConfig } from '@standin/kube/kube-config';

/** Somebody who is signed in, as the API server sees them. */
export interface ClusterUser {
  /** Of the token; what is cached for one is nobody else's. */
  readonly id: string;
  /** Every call carries the person's own token, and nothing of the dashboard's. */
  readonly client: KubeClient;
}

/** A person waits: once more where that helps, and then the page says what is away. */
const ATTEMPTS_MAX = 2;
const TIMEOUT_MS = 8_000;

/** Users of the cluster that `config` names, by their tokens. Their calls share connections; `close` ends those. */
export const clusterUsers = (
  config: SharedConnectionConfig,
): { as(token: string): ClusterUser; close(): Promise<void> } => {
  const anonymous = anonymousConfig(config);
  return {
    as: (token) => ({
      id: createHash('sha256').update(token).digest('base64url'),
      client: new KubeClient({
        config: tokenConfig(anonymous, token),
        attemptsMax: ATTEMPTS_MAX,
        timeoutMs: TIMEOUT_MS,
      }),
    }),
    close: () => anonymous.close(),
  };
};
