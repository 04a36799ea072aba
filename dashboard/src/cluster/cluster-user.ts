import { createHash } from 'node:crypto';
import { KubeClient, type SharedConnectionConfig } from '@standin/kube';
import { anonymousConfig, tokenConfig } from '@standin/kube/kube-config';

/** A signed-in user, as the API server sees them. */
export interface ClusterUser {
  /** Derived from the token. Data that is cached for one token is never used for another. */
  readonly id: string;
  /** Every call carries the user's own token, and no credentials of the dashboard. */
  readonly client: KubeClient;
}

/** A user is waiting: one retry where it helps, then the page reports what is unavailable. */
const ATTEMPTS_MAX = 2;
const TIMEOUT_MS = 8_000;

/** Users of the cluster in `config`, by their tokens. Their calls share connections, which `close` ends. */
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
