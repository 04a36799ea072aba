import process from 'node:process';
import { LeaderElector, SelectedNamespaces } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { checkSchema, openLogStore } from '@standin/logstore';
import { collectProcessMetrics, exposeLogStore } from '@standin/process/process-metrics';
import { runProcess, type Running } from '@standin/process/run-process';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { checkCrds } from './check-crds.ts';
import { claimConfigMaps } from './claims/claim-store.ts';
import { runOperator } from './operator.ts';
import { certificateFolder } from './publish/certificate-files.ts';
import { ownCertificates, type CertificateSource } from './publish/certificate-renewal.ts';
import { certificateSecret } from './publish/certificate-secret.ts';
import { gatewayPods } from './gateways/gateway-pods.ts';
import { gatewayConfigMap } from './gateways/gateway-memory.ts';
import { identifiedSource } from './identity/identified-source.ts';
import { identitySecrets } from './identity/identity-secrets.ts';
import { LEASE_NAME } from './publish/leadership.ts';
import { ledgerConfigMaps } from './quota/ledger-store.ts';
import { logRefusals } from './log-refusals.ts';
import { operatorSettings, translateSettings, type OperatorSettings } from './settings.ts';
import { kubernetesServices, kubernetesSource } from './sources/index.ts';

const GATEWAYS_CONFIG_MAP = 'standin-gateways';
const STOP_MS_MAX = 10_000;

const start = async (settings: OperatorSettings, logger: Logger): Promise<Running> => {
  const registry = new Registry();
  collectProcessMetrics(registry, 'operator');
  const client = loadKubeClient({
    ...(settings.kubeconfig === undefined ? {} : { kubeconfigPath: settings.kubeconfig }),
    writeRate: { qps: settings.writesPerSecond, burst: 2 * settings.writesPerSecond },
    registry,
  });
  const { url: clickhouseUrl, ...clickhouse } = settings.clickhouse;
  const logStore =
    clickhouseUrl === undefined ? undefined : openLogStore({ url: clickhouseUrl, ...clickhouse, logger });
  if (logStore !== undefined) exposeLogStore(registry, () => logStore.ping(), logger);
  const streamCertificates = (): CertificateSource => {
    const { certificateDir, certificateSecret: name } = settings.stream;
    return certificateDir === undefined
      ? ownCertificates(certificateSecret(client, settings.namespace, name))
      : certificateFolder(certificateDir);
  };
  const { jobTemplate, ...drain } = settings.drain;
  const ending = new AbortController();
  const { namespaces, namespaceSelector } = settings.watch;
  const selected =
    namespaceSelector === undefined
      ? undefined
      : new SelectedNamespaces({
          client,
          labelSelector: namespaceSelector,
          onRefused: logRefusals(logger, 'namespaces', undefined),
          logger,
          registry,
          signal: ending.signal,
        });
  const cluster = { client, namespaces, selected, logger, registry };
  const identities = identitySecrets(client, settings.namespace);
  const operator = await runOperator({
    settings,
    translateSettings: translateSettings(settings),
    source: identifiedSource({
      logger,
      registry,
      pollMs: settings.secretPollMs,
      source: kubernetesSource({ ...cluster, namespaceBytesMax: settings.namespaceBytesMax }),
      store: identities,
    }),
    services: kubernetesServices(cluster),
    certificates: streamCertificates(),
    leadership: new LeaderElector({
      client,
      namespace: settings.namespace,
      name: LEASE_NAME,
      identity: settings.name,
      url: settings.stream.url,
      logger: logger.child({ stage: 'election' }),
      registry,
    }),
    isGatewayGone: gatewayPods(client, settings.namespace),
    gatewayMemory: gatewayConfigMap(client, settings.namespace, GATEWAYS_CONFIG_MAP),
    ledgers: ledgerConfigMaps(client, settings.namespace),
    claims: {
      store: claimConfigMaps(client, settings.namespace),
      installationKey: async () => (await identities.installation()).key,
    },
    spoolVolumes:
      jobTemplate === undefined ? undefined : { client, namespace: settings.namespace, jobTemplate, ...drain },
    logStore,
    logger,
    registry,
  });
  void checkCrds(client, logger);
  if (logStore !== undefined) {
    void checkSchema(logStore, { process: 'operator', migrates: clickhouse.migrate, logger, signal: ending.signal });
  }
  logger.info({ stream: operator.streamUrl, admin: operator.adminUrl, server: client.server }, 'operator listening');

  const stop = async (): Promise<void> => {
    ending.abort();
    await operator.stop();
    await logStore?.close();
  };
  return { stop, stopMsMax: STOP_MS_MAX, ended: operator.ended };
};

/** Runs the operator of a cluster: `node operator/src/main.ts`. */
await runProcess({ name: 'operator', settings: operatorSettings, start }, process.env);
