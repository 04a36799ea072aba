import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ResourceSource } from '@standin/contract';
import { gatewaySettings, runGateway } from '@standin/gateway';
import {
  certificateFile,
  directorySource,
  kubernetesSource,
  LEASE_NAME,
  noGatewayMemory,
  operatorSettings,
  runOperator,
  soleLeader,
  translateSettings,
  type Leadership,
  type OperatorSettings,
  type StatusWritten,
} from '@standin/operator';
import { LeaderElector, loadKubeClient } from '@standin/kube';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import type { DevOutput, Ready } from './dev-output.ts';
import { describeReady } from './describe-ready.ts';

/** Where Accounts, Projects and Endpoints come from. */
export type ResourcesFrom =
  { readonly kind: 'directory'; readonly dir: string } | { readonly kind: 'cluster'; readonly kubeconfig: string };

export interface StandinOptions {
  readonly from: ResourcesFrom;
  readonly dataDir: string;
  readonly gatewayPort: number;
  readonly denyPrivateUpstreams: boolean;
  readonly clickhouseUrl: string;
  readonly logger: Logger;
  readonly output: DevOutput;
}

export interface RunningStandin {
  /** Base URL of the gateway. */
  readonly url: string;
  /** Resolves when the gateway has everything that the directory says. */
  ready(signal: AbortSignal): Promise<Ready>;
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
const SETTLE_POLL_MS = 20;

/** Operator and gateway in this process, on loopback: the same code and the same config stream as in a cluster. */
export const startStandin = async (options: StandinOptions): Promise<RunningStandin> => {
  const { from, dataDir, logger, output } = options;
  const inData = (...parts: string[]): string => path.join(dataDir, ...parts);
  const egress = { allowPrivate: !options.denyPrivateUpstreams };
  const listenAnywhere = { host: LOOPBACK, port: 0 };
  const url = `http://localhost:${options.gatewayPort}`;

  const operatorConfig = operatorSettings.parse({
    name: 'dev',
    stream: listenAnywhere,
    admin: listenAnywhere,
    gatewayUrl: url,
    egress,
    secretPollMs: 1_000,
  });
  const registry = new Registry();
  const { source, leadership } = openSource(options, operatorConfig, registry);
  const operator = await runOperator({
    settings: operatorConfig,
    translateSettings: translateSettings(operatorConfig),
    source,
    certificates: certificateFile(inData('tls')),
    leadership,
    gatewayMemory: noGatewayMemory,
    logger: logger.child({ process: 'operator' }),
    registry,
    onStatus: noticeStatuses(output),
    onProblems: (problems) => output.problems(problems),
  });
  const gateway = await runGateway({
    settings: gatewaySettings.parse({
      name: 'dev',
      host: LOOPBACK,
      port: options.gatewayPort,
      admin: listenAnywhere,
      dataDir: inData('gateway'),
      operator: { urls: [operator.streamUrl], tls: { dir: inData('tls', 'gateway') } },
      clickhouse: { url: options.clickhouseUrl, migrate: false },
      egress,
      drainMs: 0,
      logLevel: 'info',
    }),
    logger: logger.child({ process: 'gateway' }),
  });

  return {
    url,
    ready: async (signal) => {
      await Promise.race([operator.synced, operator.ended, aborted(signal)]);
      while (!operator.isSettled()) await Promise.race([delay(SETTLE_POLL_MS, undefined, { signal }), operator.ended]);
      const origin = path.relative('.', from.kind === 'directory' ? from.dir : from.kubeconfig) || '.';
      return describeReady({ operator, source, gateway: url, origin, privateUpstreams: egress.allowPrivate });
    },
    stop: async () => {
      await gateway.stop();
      await operator.stop();
    },
  };
};

const openSource = (
  { from, dataDir, logger }: StandinOptions,
  settings: OperatorSettings,
  registry: Registry,
): { readonly source: ResourceSource; readonly leadership: Leadership } => {
  if (from.kind === 'directory') {
    const source = directorySource({ dir: from.dir, dataDir, logger });
    return { source, leadership: soleLeader(path.join(dataDir, 'operator'), logger) };
  }
  const client = loadKubeClient({ kubeconfigPath: from.kubeconfig, registry });
  const source = kubernetesSource({ client, namespaces: [], logger, registry });
  const { name: identity, namespace } = settings;
  return { source, leadership: new LeaderElector({ client, namespace, name: LEASE_NAME, identity, logger, registry }) };
};

const aborted = async (signal: AbortSignal): Promise<never> => {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
};

/** Tells when an endpoint becomes ready or stops being it, and of any other object when it is not. */
const noticeStatuses = (output: DevOutput): ((written: StatusWritten) => void) => {
  const last = new Map<string, string>();
  return ({ uid, ref, ready, conditions, wrote }) => {
    const condition = conditions.find(({ type }) => type === 'Ready');
    if (!wrote || condition === undefined) return;
    const state = ready ? `${condition.observedGeneration}` : condition.message;
    if (last.get(uid) === state) return;
    last.set(uid, state);
    if (TRANSIENT.has(condition.reason) || (ready && ref.kind !== 'Endpoint')) return;
    output.notice({ object: `${ref.kind} ${ref.namespace}/${ref.name}`, ready, message: condition.message });
  };
};

const TRANSIENT: ReadonlySet<string> = new Set(['NotProgrammed', 'PartiallyProgrammed', 'Pending', 'NoGateway']);
