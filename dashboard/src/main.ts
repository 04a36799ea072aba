import process from 'node:process';
import { parseSettings, printableJson, SettingsError } from '@standin/contract';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { checkSchema, openLogStore } from '@standin/logstore';
import { pino } from 'pino';
import { clusterAccess } from './access/cluster-access.ts';
import { clusterBackends } from './cluster/cluster-backend.ts';
import { followClusterShares } from './cluster/cluster-shares.ts';
import type { OwnView } from './cluster/follow-objects.ts';
import { followResourceIndex } from './cluster/resource-index.ts';
import { ensureDashboardBuild } from './dashboard-build.ts';
import { runDashboard } from './run-dashboard.ts';
import { clusterDashboardSettings, type ClusterDashboardSettings } from './settings.ts';

/** The dashboard of a cluster: `node dashboard/src/main.ts`. Settings come from the environment (docs/configuration.md). */
const readSettings = (): ClusterDashboardSettings => {
  try {
    return parseSettings(clusterDashboardSettings, process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
};

const settings = readSettings();
const logger = pino({ name: 'dashboard', level: settings.logLevel, hooks: { streamWrite: printableJson } });
const { session, oidc, url } = settings;
const stopping = new AbortController();

const own = loadKubeClient(settings.kubeconfig === undefined ? {} : { kubeconfigPath: settings.kubeconfig });
const store = openLogStore({ ...settings.clickhouse, logger });
const ownView = (stage: string): OwnView => ({
  client: own,
  namespaces: settings.watch.namespaces,
  logger: logger.child({ stage }),
  signal: stopping.signal,
});
const backends = clusterBackends({
  config: own.config,
  index: followResourceIndex(ownView('index')),
  store,
  logger: logger.child({ stage: 'cluster' }),
});
const access = clusterAccess({
  backends,
  secrets: session.previousKey === undefined ? [session.key] : [session.key, session.previousKey],
  maxAgeMs: session.maxAgeMs,
  isSecure: !settings.dangerouslyAllowHttp,
  oidc:
    oidc.issuer === undefined || url === undefined
      ? undefined
      : { ...oidc, issuer: oidc.issuer, url, scopes: oidc.scopes.split(/\s+/) },
  logger: logger.child({ stage: 'access' }),
});
const shares = { source: followClusterShares(ownView('shares')), store };
const buildDir = await ensureDashboardBuild(() => logger.info('building the dashboard'));
const dashboard = await runDashboard({ settings, service: settings.service, access, shares, buildDir, logger });
void checkSchema(store, { process: 'dashboard', migrates: false, logger, signal: stopping.signal });
logger.info({ address: dashboard.url, server: own.server }, 'dashboard listens');

const stop = async (): Promise<void> => {
  await dashboard.stop();
  stopping.abort();
  await Promise.all([backends.close(), own.close(), store.close()]);
};
const onSignal = (signal: NodeJS.Signals): void => {
  logger.info({ signal }, 'signal received');
  // A second signal ends the process at once.
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => process.exit(1));
  stop().then(
    () => process.exit(0),
    (error: unknown) => {
      logger.fatal({ err: error }, 'stop failed');
      process.exit(1);
    },
  );
};
process.once('SIGTERM', onSignal).once('SIGINT', onSignal);
