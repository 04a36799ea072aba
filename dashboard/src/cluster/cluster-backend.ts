import { FairQueue, SourceError, type Settled } from '@standin/contract';
import type { SharedConnectionConfig } from '@standin/kube';
import type { LogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Backend, ProjectIdentity } from '../backend.ts';
import type { Pools } from '../pools.ts';
import type { Sender } from '../sender.ts';
import type { LinkedRequests } from '../shares/public-shares.ts';
import { AccessReviews } from './access-reviews.ts';
import { clusterLogs } from './cluster-logs.ts';
import { clusterResources } from './cluster-resources.ts';
import { clusterUsers, type ClusterUser } from './cluster-user.ts';
import { fairLinks, fairReads } from './fair-reads.ts';
import { LiveChanges } from './live-changes.ts';
import type { Identities } from './identities.ts';
import type { OperatorClient } from './operator-client.ts';
import { ReadableNamespaces } from './readable-namespaces.ts';
import type { ResourceIndex } from './resource-index.ts';

/** Each call opens a connection, and the operator then asks all gateways. One user can have half of the connections. */
const OPERATOR_CONNECTIONS_MAX = 16;
const OPERATOR_CALLS_MAX = 500;
const OPERATOR_WAIT_MS = 8_000;

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
  readonly pools?: Pools | undefined;
}

export interface ClusterBackends {
  /** Returns the backend of the user with this token. */
  as(token: string, sender: Sender): Backend;
  /** Returns the user with this token, for calls to the API server. */
  user(token: string, sender: Sender): ClusterUser;
  readonly links: LinkedRequests;
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
  pools,
}: ClusterParts): ClusterBackends => {
  const users = clusterUsers(config, pools);
  const reviews = new AccessReviews();
  const readable = new ReadableNamespaces({ reviews, index });
  const changes = new LiveChanges(reviews, logger, pools);
  const operatorCalls = new FairQueue({
    runningMax: OPERATOR_CONNECTIONS_MAX,
    callsMax: OPERATOR_CALLS_MAX,
    waitMs: OPERATOR_WAIT_MS,
    refusal: () => new SourceError('Unavailable', 'the operator is busy: try again in a few seconds'),
  });
  pools?.set('operator_connections', operatorCalls.running).set('operator_calls', operatorCalls.calls);
  const readsFor = fairReads(store, pools);
  /** The questions that wait for their turn. */
  const waiting = new Map<string, Promise<Settled>>();
  /** Joins a question of the same user about the same project that is not asked yet. */
  const settle = (holder: string, project: ProjectIdentity): Promise<Settled> => {
    const key = JSON.stringify([holder, project.namespace, project.name, project.uid]);
    const known = waiting.get(key);
    if (known !== undefined) return known;
    const ask = (): Promise<Settled> => {
      waiting.delete(key);
      return operator.settle(project);
    };
    const asked = operatorCalls.run(holder, ask).finally(() => {
      if (waiting.get(key) === asked) waiting.delete(key);
    });
    waiting.set(key, asked);
    return asked;
  };
  return {
    as: (token, sender) => {
      const user = users.as(token, sender);
      const refusals: OperatorClient['refusals'] = async (project) =>
        operatorCalls.run(await user.findHolder(), () => operator.refusals(project), user.signal);
      const inTurn = {
        refusals,
        settle: async (project: ProjectIdentity) => settle(await user.findHolder(), project),
      };
      return {
        mode: 'cluster',
        gatewayUrl,
        sendUrl,
        resources: clusterResources({ user, reviews, index, readable, changes, identities }),
        logs: clusterLogs({ user, reviews, store: readsFor(user), identities, operator: inTurn }),
      };
    },
    user: (token, sender) => users.as(token, sender),
    links: fairLinks(readsFor),
    close: () => users.close(),
  };
};
