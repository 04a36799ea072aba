import process from 'node:process';
import { parseSettings, printableJson, SettingsError } from '@standin/contract';
import { LeaderElector } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { checkSchema, openLogStore } from '@standin/logstore';
import { pino } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { checkCrds } from './check-crds.ts';
import { runOperator } from './operator.ts';
import { certificateFolder } from './publish/certificate-folder.ts';
import { ownCertificates, type CertificateSource } from './publish/certificate-renewal.ts';
import { certificateSecret } from './publish/certificate-secret.ts';
import { gatewayPods } from './gateways/gateway-pods.ts';
import { gatewayConfigMap } from './gateways/gateway-memory.ts';
import { LEASE_NAME } from './publish/leadership.ts';
import { ledgerConfigMaps } from './quota/ledger-store.ts';
import { operatorSettings, translateSettings, type OperatorSettings } from './settings.ts';
import { kubernetesServices, kubernetesSource } from './sources/index.ts';

/** The operator of a cluster: `node operator/src/main.ts`, with settings from the environment (docs/configuration.md). */
const readSettings = (): OperatorSettings => {
  try {
    return parseSettings(operatorSettings, process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
};

const GATEWAYS_CONFIG_MAP = 'standin-gateways';
const STOP_TIMEOUT_MS = 10_000;

const settings = readSettings();
const logger = pino({
  level: settings.logLevel,
  base: { process: 'operator', name: settings.name },
  hooks: { streamWrite: printableJson },
});

const end = (error: unknown, what: string): never => {
  logger.fatal({ err: error }, what);
  process.exit(1);
};

const registry = new Registry();
collectDefaultMetrics({ register: registry });
const client = loadKubeClient({
  ...(settings.kubeconfig === undefined ? {} : { kubeconfigPath: settings.kubeconfig }),
  writeRate: { qps: settings.writesPerSecond, burst: 2 * settings.writesPerSecond },
  registry,
});
const { url: clickhouseUrl, ...clickhouse } = settings.clickhouse;
const logStore = clickhouseUrl === undefined ? undefined : openLogStore({ url: clickhouseUrl, ...clickhouse, logger });
const streamCertificates = (): CertificateSource => {
  const { certificateDir, certificateSecret: name } = settings.stream;
  return certificateDir === undefined
    ? ownCertificates(certificateSecret(client, settings.namespace, name))
    : certificateFolder(certificateDir);
};
const { jobTemplate, ...drain } = settings.drain;
const cluster = { client, namespaces: settings.watch.namespaces, logger, registry };
const operator = await runOperator({
  settings,
  translateSettings: translateSettings(settings),
  source: kubernetesSource(cluster),
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
  spoolVolumes:
    jobTemplate === undefined ? undefined : { client, namespace: settings.namespace, jobTemplate, ...drain },
  logStore,
  logger,
  registry,
}).catch((error: unknown) => end(error, 'the operator cannot start'));
void checkCrds(client, logger);
const ending = new AbortController();
if (logStore !== undefined) {
  void checkSchema(logStore, { process: 'operator', migrates: clickhouse.migrate, logger, signal: ending.signal });
}
logger.info({ stream: operator.streamUrl, admin: operator.adminUrl, server: client.server }, 'operator listens');

let stopping = false;
const stop = (signal: NodeJS.Signals): void => {
  if (stopping) process.exit(1);
  stopping = true;
  logger.info({ signal }, 'stopping');
  setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
  ending.abort();
  const close = async (): Promise<void> => {
    await operator.stop();
    await logStore?.close();
  };
  close().then(
    () => process.exit(0),
    (error: unknown) => end(error, 'could not stop in an orderly way'),
  );
};
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
operator.ended.catch(() => process.exit(1));
