import type { SharedConnectionConfig } from '@standin/kube';
import type { LogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Backend } from '../backend.ts';
import { AccessReviews } from './access-reviews.ts';
import { clusterLogs } from './cluster-logs.ts';
import { clusterResources } from './cluster-resources.ts';
import { clusterUsers, type ClusterUser } from './cluster-user.ts';
import { fairReads } from './fair-reads.ts';
import { LiveChanges } from './live-changes.ts';
import type { Identities } from './identities.ts';
import type { OperatorClient } from './operator-client.ts';
import { ReadableNamespaces } from './readable-namespaces.ts';
import type { ResourceIndex } from './resource-index.ts';

export interface ClusterParts {
  /** Provides the address of the API server. The credentials in this configuration are not used here. */
  readonly config: SharedConnectionConfig;
  readonly index: ResourceIndex;
  readonly store: LogStore;
  readonly identities: Identities;
  readonly operator: OperatorClient;
  /** See `Backend`. */
  readonly gatewayUrl: string;
  /** See `Backend`. */
  readonly sendUrl: string;
  readonly logger: Logger;
}

export interface ClusterBackends {
  /** Returns the backend of the user with this token. `findHolder` finds whose share of the queries its reads use. */
  as(token: string, findHolder: () => Promise<string>): Backend;
  /** Returns the user with this token, for calls to the API server. */
  user(token: string): ClusterUser;
  close(): Promise<void>;
}

/** Creates backends that read and write a cluster with the token of each user. */
export const clusterBackends = ({
  config,
  index,
  store,
  identities,
  operator,
  gatewayUrl,
  sendUrl,
  logger,
}: ClusterParts): ClusterBackends => {
  const users = clusterUsers(config);
  const reviews = new AccessReviews();
  const readable = new ReadableNamespaces({ reviews, index });
  const changes = new LiveChanges(reviews, logger);
  const readsFor = fairReads(store);
  return {
    as: (token, findHolder) => {
      const user = users.as(token);
      return {
        mode: 'cluster',
        gatewayUrl,
        sendUrl,
        resources: clusterResources({ user, reviews, index, readable, changes, identities }),
        logs: clusterLogs({ user, reviews, store: readsFor(findHolder), identities, operator }),
      };
    },
    user: (token) => users.as(token),
    close: () => users.close(),
  };
};
