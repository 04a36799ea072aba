import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { SelectedNamespaces } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { checkSchema, openLogStore } from '@standin/logstore';
import { listenAdmin } from '@standin/process/admin-server';
import { collectProcessMetrics, exposeCertificateExpiry, exposeLogStore } from '@standin/process/process-metrics';
import { runProcess, type Running } from '@standin/process/run-process';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { clusterAccess } from './access/cluster-access.ts';
import { clusterBackends } from './cluster/cluster-backend.ts';
import { followClusterShares } from './cluster/cluster-shares.ts';
import type { OwnView } from './cluster/follow-objects.ts';
import { Identities } from './cluster/identities.ts';
import { operatorClient } from './cluster/operator-client.ts';
import { followResourceIndex } from './cluster/resource-index.ts';
import { ensureDashboardBuild } from './dashboard-build.ts';
import type { Pools } from './pools.ts';
import { runDashboard } from './run-dashboard.ts';
import { clusterDashboardSettings, type ClusterDashboardSettings } from './settings.ts';

/** Maximum duration of `stop`. It is longer than the time that `runDashboard` gives running requests. */
const STOP_MS_MAX = 10_000;

const start = async (settings: ClusterDashboardSettings, logger: Logger): Promise<Running> => {
  const { session, oidc, url } = settings;
  const stopping = new AbortController();
  const registry = new Registry();
  collectProcessMetrics(registry, 'dashboard');
  const { urls, tls } = settings.operator;
  exposeCertificateExpiry(registry, () => readFile(path.join(tls.dir, 'tls.crt')));

  const own = loadKubeClient(settings.kubeconfig === undefined ? {} : { kubeconfigPath: settings.kubeconfig });
  const store = openLogStore({ ...settings.clickhouse, logger });
  exposeLogStore(registry, () => store.ping(), logger);
  const { namespaces, namespaceSelector } = settings.watch;
  const selected =
    namespaceSelector === undefined
      ? undefined
      : new SelectedNamespaces({ client: own, labelSelector: namespaceSelector, logger, signal: stopping.signal });
  const ownView = (stage: string): OwnView => ({
    client: own,
    namespaces,
    selected,
    logger: logger.child({ stage }),
    signal: stopping.signal,
  });
  const pools: Pools = new Map();
  const operator = operatorClient({ urls, tlsDir: tls.dir, logger });
  const identities = new Identities(operator);
  const backends = clusterBackends({
    config: own.config,
    index: followResourceIndex(ownView('index')),
    store,
    gatewayUrl: settings.gatewayUrl,
    sendUrl: settings.send.gatewayUrl ?? settings.gatewayUrl,
    identities,
    operator,
    logger: logger.child({ stage: 'cluster' }),
    pools,
  });
  const audit = logger.child({ stage: 'audit' });
  const access = clusterAccess({
    backends,
    audit,
    secrets: session.previousKey === undefined ? [session.key] : [session.key, session.previousKey],
    maxAgeMs: session.maxAgeMs,
    isSecure: !settings.dangerouslyAllowHttp,
    oidc:
      oidc.issuer === undefined || url === undefined
        ? undefined
        : { ...oidc, issuer: oidc.issuer, url, scopes: oidc.scopes.split(/\s+/) },
    logger: logger.child({ stage: 'access' }),
    pools,
  });
  const shares = { source: followClusterShares(ownView('shares'), identities), store: backends.links, audit };
  const buildDir = await ensureDashboardBuild(() => logger.info('building the dashboard'));
  const { service } = settings;
  const dashboard = await runDashboard({ settings, service, access, shares, buildDir, logger, registry, pools });
  const admin = await listenAdmin({ ...settings.admin, registry, notReadyBecause: () => [] });
  void checkSchema(store, { process: 'dashboard', migrates: false, logger, signal: stopping.signal });
  logger.info({ address: dashboard.url, adminUrl: admin.url, server: own.server }, 'dashboard listening');

  const stop = async (): Promise<void> => {
    await dashboard.stop();
    stopping.abort();
    await Promise.all([backends.close(), own.close(), store.close(), admin.close()]);
  };
  return { stop, stopMsMax: STOP_MS_MAX };
};

/** Starts a cluster dashboard: `node dashboard/src/main.ts`. */
await runProcess({ name: 'dashboard', settings: clusterDashboardSettings, start }, process.env);
