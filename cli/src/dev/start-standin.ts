import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ObjectRef, ResourceSource, ServiceSource } from '@standin/contract';
import type { Backend, PublicSharesSource } from '@standin/dashboard';
import { RefusedTargets } from '@standin/egress';
import { errorMessage } from '@standin/contract';
import { gatewaySettings, runGateway, type GatewaySettings } from '@standin/gateway';
import {
  certificateFile,
  claimConfigMaps,
  directorySource,
  kubernetesServices,
  identifiedSource,
  identitySecrets,
  kubernetesSource,
  LEASE_NAME,
  ledgerConfigMaps,
  ledgerFiles,
  noGatewayMemory,
  noGatewayPods,
  operatorSettings,
  ownCertificates,
  runOperator,
  soleLeader,
  translateSettings,
  type Leadership,
  type LedgerStore,
  type LocatingObjects,
  type Operator,
  type OperatorSettings,
  type RecordedClaims,
} from '@standin/operator';
import type { EngineAddress } from '@standin/engine';
import type { LogStore } from '@standin/logstore';
import { LeaderElector, type KubeClient } from '@standin/kube';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { PlainError } from '../plain-error.ts';
import { announceRows } from './announce-rows.ts';
import type { DevOutput, Ready } from './dev-output.ts';
import { describeReady } from './describe-ready.ts';
import { localBackend, localShares } from './local-backend.ts';
import { fieldPlace, objectNotices } from './object-notices.ts';

/** The source of the resources: a directory of manifests or a cluster. */
export type ResourcesFrom =
  { readonly kind: 'directory'; readonly dir: string } | { readonly kind: 'cluster'; readonly kubeconfig: string };

export interface StandinOptions {
  readonly from: ResourcesFrom;
  readonly dataDir: string;
  readonly gatewayPort: number;
  readonly denyPrivateUpstreams: boolean;
  /** Certificates in PEM to trust for upstreams, in addition to the machine's. */
  readonly upstreamCa?: string | undefined;
  readonly apiKeyHeader: 'exact' | 'any-case';
  readonly clickhouse: EngineAddress & { readonly database: string };
  readonly store: LogStore;
  readonly logger: Logger;
  readonly output: DevOutput;
}

export interface RunningStandin {
  /** Base URL of the gateway. */
  readonly url: string;
  /** Targets that endpoints must not reach. */
  readonly refused: RefusedTargets;
  /** Resolves when the gateway has the source's complete configuration. */
  ready(signal: AbortSignal): Promise<Ready>;
  /** Rejects on a fatal error. */
  readonly ended: Promise<void>;
  /** The backend for the dashboard. */
  readonly backend: Backend;
  /** Share links that the dashboard serves without authentication. */
  readonly shares: PublicSharesSource;
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
const ANY_PORT = { host: LOOPBACK, port: 0 };
const SETTLE_POLL_MS = 20;
/**
 * How long a gateway that stops waits for running requests, and then for the delivery to the log. This time is short, because a
 * user who has pressed Ctrl-C is also waiting.
 */
const DRAIN_MS = 3_000;

/**
 * Runs the operator and the gateway in this process, on loopback, with the same code and the same config stream as in a cluster.
 */
export const startStandin = async (options: StandinOptions): Promise<RunningStandin> => {
  const { from, dataDir, logger, output, store } = options;
  const startedAt = new Date();
  const inData = (...parts: string[]): string => path.join(dataDir, ...parts);
  const egress = egressSettings(options);
  const refused = new RefusedTargets([]);
  const url = `http://localhost:${options.gatewayPort}`;

  const operatorConfig = operatorSettings.parse({
    name: 'dev',
    stream: ANY_PORT,
    admin: ANY_PORT,
    gatewayUrl: url,
    egress,
    secretPollMs: 1_000,
    // On a user's own machine, only the manifests set a quota.
    quota: { free: 0, pro: 0 },
    clickhouse: { ...options.clickhouse, migrate: false },
  });
  const registry = new Registry();
  const operatorLogger = logger.child({ process: 'operator' });
  const opened = await openSource({ ...options, logger: operatorLogger }, operatorConfig, registry);
  const { source, leadership, ledgers, claims, where, services } = opened;
  const { objects, secrets } = source;
  const origin = displayPath(from.kind === 'directory' ? from.dir : from.kubeconfig);
  const inOrigin = (place: string): string =>
    place === '' ? '' : path.isAbsolute(place) ? displayPath(place) : path.join(origin, place);
  const operator = await runOperator({
    settings: operatorConfig,
    translateSettings: translateSettings(operatorConfig),
    source,
    services,
    refused,
    certificates: ownCertificates(certificateFile(inData('tls'))),
    leadership,
    gatewayMemory: noGatewayMemory,
    isGatewayGone: noGatewayPods,
    ledgers,
    claims,
    logStore: store,
    logger: operatorLogger,
    registry,
    ...objectNotices(output, (ref, message) => inOrigin(where(ref, message))),
    onProblems: (problems) =>
      output.problems(problems.map((problem) => ({ ...problem, where: inOrigin(problem.where) }))),
  });
  const gateway = await runGateway({
    settings: devGatewaySettings(options, operator.streamUrl),
    refused,
    logger: logger.child({ process: 'gateway' }),
    logSink: announceRows(store, startedAt, (request) => output.request(request)),
    onRejected: (refused) => output.refused(refused),
  }).catch(async (error: unknown) => {
    // Otherwise, the operator would keep the process running.
    await operator.stop();
    throw error;
  });

  return {
    url,
    refused,
    ended: operator.ended,
    backend: localBackend({
      objects,
      secrets,
      cache: operator.cache,
      store,
      inOrigin,
      directory: opened.directory,
      gatewayUrl: url,
      whereIs: (ref) => inOrigin(where(ref, '')),
      settings: translateSettings(operatorConfig),
      gateway,
      gatherRefusals: (uid) => operator.gatherRefusals(uid),
      keySecret: (accountUid) => operator.translator.verdict(accountUid)?.keySecret?.secretName,
    }),
    shares: { source: localShares(operator.cache), store },
    ready: async (signal) => {
      await settle(operator, signal);
      return describeReady({ operator, secrets, gateway: url, origin, privateUpstreams: egress.allowPrivate });
    },
    stop: () => gateway.stop().then(() => operator.stop()),
  };
};

/** The gateway forwards, and the operator replays. */
const egressSettings = ({ denyPrivateUpstreams, upstreamCa: ca }: StandinOptions) => ({
  allowPrivate: !denyPrivateUpstreams,
  ca,
});

const devGatewaySettings = (options: StandinOptions, streamUrl: string): GatewaySettings => {
  const { dataDir, gatewayPort, clickhouse, apiKeyHeader } = options;
  return gatewaySettings.parse({
    name: 'dev',
    host: LOOPBACK,
    port: gatewayPort,
    admin: ANY_PORT,
    dataDir: path.join(dataDir, 'gateway'),
    operator: { urls: [streamUrl], tls: { dir: path.join(dataDir, 'tls', 'gateway') } },
    clickhouse: { ...clickhouse, migrate: false },
    apiKeyHeader: { name: apiKeyHeader },
    egress: egressSettings(options),
    drainMs: 0,
    drainTimeoutMs: DRAIN_MS,
    logLevel: 'info',
  });
};

/** Waits until the gateway has everything in the source. Statuses may be written later. */
const settle = async (operator: Operator, signal: AbortSignal): Promise<void> => {
  await Promise.race([operator.synced, operator.ended, aborted(signal)]);
  while (!operator.isSettled()) await Promise.race([delay(SETTLE_POLL_MS, undefined, { signal }), operator.ended]);
};

/** Makes paths below the working directory relative to it. */
const displayPath = (name: string): string => {
  const relative = path.relative('.', name);
  if (relative === '') return '.';
  return relative.startsWith('..') ? path.resolve(name) : relative;
};

/** Returns the location of the object that a message is about, or an empty string if it is unknown. */
type Where = (ref: ObjectRef, message: string) => string;

interface OpenedSource {
  readonly source: ResourceSource;
  readonly directory?: LocatingObjects;
  readonly services?: ServiceSource;
  readonly leadership: Leadership;
  readonly claims?: RecordedClaims;
  readonly ledgers: LedgerStore;
  readonly where: Where;
}

const openSource = async (
  { from, dataDir, logger }: StandinOptions,
  settings: OperatorSettings,
  registry: Registry,
): Promise<OpenedSource> => {
  if (from.kind === 'directory') {
    const source = directorySource({ dir: from.dir, dataDir, logger });
    const directory = source.objects;
    const where: Where = (ref, message) => {
      const start = directory.whereIs(ref);
      return start === undefined ? '' : fieldPlace(from.dir, start, message);
    };
    const operatorDir = path.join(dataDir, 'operator');
    const ledgers = ledgerFiles(path.join(operatorDir, 'quota'));
    return { source, directory, where, ledgers, leadership: soleLeader(operatorDir, logger) };
  }
  const client = await openCluster(from.kubeconfig, registry);
  const cluster = { client, namespaces: [], logger, registry };
  const { name: identity, namespace } = settings;
  const identities = identitySecrets(client, namespace);
  const source = identifiedSource({
    logger,
    registry,
    pollMs: settings.secretPollMs,
    source: kubernetesSource(cluster),
    store: identities,
  });
  const claims = {
    store: claimConfigMaps(client, namespace),
    installationKey: async () => (await identities.installation()).key,
  };
  const services = kubernetesServices(cluster);
  const leadership = new LeaderElector({ client, namespace, name: LEASE_NAME, identity, logger, registry });
  const ledgers = ledgerConfigMaps(client, namespace);
  return { source, services, leadership, claims, ledgers, where: () => '' };
};

const openCluster = async (kubeconfigPath: string, registry: Registry): Promise<KubeClient> => {
  // Loaded on demand, because without a cluster, the Kubernetes client would only waste memory.
  const { loadKubeClient } = await import('@standin/kube/load-kube-client');
  try {
    return loadKubeClient({ kubeconfigPath, registry });
  } catch (error) {
    const [reason = ''] = errorMessage(error).split('\n', 1);
    throw new PlainError(`cannot use the kubeconfig ${kubeconfigPath}: ${reason}`, { cause: error });
  }
};

const aborted = async (signal: AbortSignal): Promise<never> => {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
};
