import { createHash } from 'node:crypto';
import { KubeClient, type SharedConnectionConfig } from '@standin/kube';
import { anonymousConfig, tokenConfig } from '@standin/kube/kube-config';

/** A user of the cluster, identified by a token that the API server may not have verified yet. */
export interface ClusterUser {
  /** Derived from the token, so that data cached for one token is never used for another. */
  readonly id: string;
  /** Every call carries the user's token and none of the dashboard's credentials. */
  readonly client: KubeClient;
}

/** Allows only one retry, because a user is waiting, and the page can report what is unavailable. */
const ATTEMPTS_MAX = 2;
const TIMEOUT_MS = 8_000;
/** Reviews of permissions are POST requests that write nothing, and one page may need thousands of them. */
const REVIEW_RATE = { qps: 1_000, burst: 1_000 };

/** Creates users of the cluster in `config` from their tokens. Their calls share connections, which `close` closes. */
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
        writeRate: REVIEW_RATE,
      }),
    }),
    close: () => anonymous.close(),
  };
};
