import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { REJECTIONS, listenUrl, type LogRow, type SettledProject, type Undelivered } from '@standin/contract';
import { createEgress, parseTarget, RefusedTargets, urlTarget, type Egress } from '@standin/egress';
import { checkSchema, openLogStore } from '@standin/logstore';
import { listenAdmin } from '@standin/process/admin-server';
import { exposeCertificateExpiry } from '@standin/process/process-metrics';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { QuotaGate } from './admit/quota-gate.ts';
import { ConfigClient } from './config/config-client.ts';
import { ConfigStore } from './config/config-store.ts';
import { DiskCopy } from './config/disk-copy.ts';
import { Delivery } from './deliver/delivery.ts';
import type { LogSink } from './deliver/log-sink.ts';
import { promptly } from './deliver/promptly.ts';
import { Settlement } from './deliver/settlement.ts';
import { undeliveredReport } from './deliver/undelivered-report.ts';
import { Metrics } from './observe/metrics.ts';
import { RefusalCounts } from './observe/refusal-counts.ts';
import type { Tracing } from './observe/tracing.ts';
import { Pipeline } from './pipeline.ts';
import { Receiver } from './receive/server.ts';
import type { SpoolDisk } from './record/spool/spool-disk.ts';
import { Spool } from './record/spool/spool.ts';
import { Barrier } from './request/barrier.ts';
import { ByteBudget } from './request/byte-budget.ts';
import { Preparation } from './request/preparation.ts';
import type { RejectedRequest } from './request/refusal.ts';
import type { GatewaySettings } from './settings.ts';
import { UnauthenticatedBudget } from './verify/unauthenticated-budget.ts';

export interface GatewayOptions {
  readonly settings: GatewaySettings;
  readonly logger: Logger;
  /** Receives the log instead of the ClickHouse server in the settings. Closed on `stop`. */
  readonly logSink?: LogSink;
  /** The file system for the spool, instead of the machine's own. Tests inject faults here. */
  readonly spoolDisk?: SpoolDisk;
  /** Targets that no endpoint may call. The gateway adds its own targets to them. */
  readonly refused?: RefusedTargets;
  /** The registry for the metrics on `/metrics`. May contain others, such as those of the process if the gateway owns it. */
  readonly registry?: Registry;
  /** Called for each refused request. Must not throw. The metrics count refused requests even without it. */
  readonly onRejected?: ((rejected: RejectedRequest) => void) | undefined;
}

export interface Gateway {
  /** The URL for callers, without a trailing slash. */
  readonly url: string;
  /** The URL of /metrics, /healthz and /readyz. */
  readonly adminUrl: string;
  /**
   * Delivers what is accepted without waiting for more, and resolves when the log has all requests of the project (or of
   * `ALL_PROJECTS`) that were accepted before the call, in any version. Rejects with the signal's reason when it aborts.
   */
  settle(project: string, signal: AbortSignal): Promise<SettledProject>;
  /**
   * Resolves with the rows that are accepted and may not be in the log, each in its latest version. The log has all others. Resolves with
   * undefined if they are many, or not all of them are known.
   */
  recent(): Promise<readonly LogRow[] | undefined>;
  /** Resolves when further requests are accepted, or their responses recorded. Rejects with the signal's reason when it aborts. */
  nextRecord(signal: AbortSignal): Promise<void>;
  /**
   * Drains the gateway, delivers as much of the log as it can, and sends the operator a goodbye message. Takes no longer than
   * `drainMs` + 2 × `drainTimeoutMs` plus a few seconds.
   */
  stop(): Promise<void>;
}

/** Opens the spool, which stores accepted requests. */
const openSpool = ({ settings, logger, spoolDisk: disk }: GatewayOptions, budget: ByteBudget): Promise<Spool> => {
  const { dataDir, durability } = settings;
  const { dir = path.join(dataDir, 'spool'), bytes: bytesMax, ...limits } = settings.spool;
  return Spool.open({ dir, durability, bytesMax, ...limits, budget, logger, ...(disk !== undefined && { disk }) });
};

/** What the gateway reports to the operator. */
interface ReportedParts {
  readonly unsettled: Barrier;
  readonly undelivered: () => Undelivered | undefined;
  readonly refusals: RefusalCounts;
  readonly settle: Settlement['wait'];
}

/** Returns the active configuration, the client that updates it, and the gate that gets permits through that client. */
const openConfig = (
  { settings, logger }: GatewayOptions,
  instance: string,
  { unsettled, undelivered, refusals, settle }: ReportedParts,
) => {
  const { name, operator, dataDir, maxStalenessMs } = settings;
  const store = new ConfigStore({ logger, maxStalenessMs });
  const diskCopy = new DiskCopy(dataDir, store, logger);
  const { urls, tls } = operator;
  const client = new ConfigClient({
    name,
    instance,
    urls,
    tlsDir: tls.dir,
    maxStalenessMs,
    store,
    diskCopy,
    logger,
    onRecall: (accountUid) => gate.recall(accountUid),
    onConnected: () => gate.connected(),
    settled: () => unsettled.passed(),
    undelivered,
    refusals: (project) => refusals.report(project),
    settle,
  });
  const gate = new QuotaGate({
    ask: (request) => client.askPermits(request),
    reportUsage: (accounts) => client.reportUsage(accounts),
    logger: logger.child({ stage: 'admit' }),
  });
  return { store, client, gate };
};

/** Adds Standin's own components and the targets in the settings to `refused`, the targets that no endpoint may call. */
const refusedBy = ({ settings, refused = new RefusedTargets([]) }: GatewayOptions): RefusedTargets => {
  const { egress, clickhouse, operator } = settings;
  for (const target of egress.refuse.map(parseTarget)) refused.add(target);
  for (const url of [clickhouse.url, ...operator.urls]) refused.add(urlTarget(new URL(url)));
  return refused;
};

const openEgress = ({ egress }: GatewaySettings, refused: RefusedTargets, logger: Logger): Egress => {
  const { ca } = egress;
  return createEgress({ policy: egress, refused, logger, ...(ca !== undefined && { ca }) });
};

/** Opens a log sink for the ClickHouse server in the settings, and checks the server's log tables in the background. */
const openSink = ({ settings: { clickhouse }, logger }: GatewayOptions): LogSink => {
  const store = openLogStore({ ...clickhouse, logger });
  const closing = new AbortController();
  void checkSchema(store, { process: 'gateway', migrates: clickhouse.migrate, logger, signal: closing.signal });
  return {
    migrate: () => store.migrate(),
    insert: (batch) => store.insert(batch),
    close: () => {
      closing.abort();
      return store.close();
    },
  };
};

/** Loads OpenTelemetry's packages only if tracing is configured. */
const openTracing = async ({ settings, logger }: GatewayOptions): Promise<Tracing | undefined> => {
  const { url, sampleRatio } = settings.tracing;
  if (url === undefined) return undefined;
  const { Tracing } = await import('./observe/tracing.ts');
  return new Tracing({ url, sampleRatio, name: settings.name, logger });
};

const reasonsNotReady = (pipeline: Pipeline, store: ConfigStore, spool: Spool): string[] => [
  ...(pipeline.isDraining ? ['stopping'] : []),
  ...(store.tableAt(performance.now()) === undefined ? ['no usable configuration'] : []),
  ...(spool.isFull ? ['the spool or its disk is full, or does not respond'] : []),
];

/** How long to wait for the responses whose delays end when the gateway stops. */
const UNDELAYED_MS_MAX = 1_000;

interface OpenParts {
  readonly spool: Spool;
  readonly egress: Egress;
  readonly sink: LogSink;
  readonly tracing: Tracing | undefined;
}

/** Returns a function that closes what is open before the gateway listens, which would keep the process running, and rethrows. */
const releasing =
  ({ spool, egress, sink, tracing }: OpenParts) =>
  async (error: unknown): Promise<never> => {
    await spool.close();
    await spool.leave({ isSettled: true });
    await Promise.all([egress.close(), sink.close(), tracing?.stop()]);
    throw error;
  };

interface SharedParts {
  readonly pipeline: Pipeline;
  readonly budget: ByteBudget;
  readonly unauthenticated: UnauthenticatedBudget;
  readonly spool: Spool;
}

/** Returns what namespaces share, by the name in the metrics. */
const sharedPools = ({ pipeline, budget, unauthenticated, spool }: SharedParts) => ({
  requests: pipeline.requests,
  connections: pipeline.connections,
  memory: budget,
  disk: spool.guard.pool,
  compiled: Preparation.pool,
  syntax_trees: Preparation.treePool,
  unverified_requests: unauthenticated.requests,
  unverified_memory: unauthenticated,
});

/** Resolves when the gateway is listening. `/readyz` reports whether it already has a configuration. */
export const runGateway = async (options: GatewayOptions): Promise<Gateway> => {
  const { settings, logger, onRejected } = options;
  const budget = new ByteBudget(settings.limits.inFlightBytes);
  const { unauthenticatedBytes, unauthenticatedRequests } = settings.limits;
  const unauthenticated = new UnauthenticatedBudget(unauthenticatedBytes, unauthenticatedRequests);
  const metrics = new Metrics(options.registry ?? new Registry());
  const tracing = await openTracing(options);
  const spool = await openSpool(options, budget);
  const refused = refusedBy(options);
  const egress = openEgress(settings, refused, logger.child({ stage: 'forward' }));

  const unsettled = new Barrier();
  const undelivered = (): Undelivered | undefined =>
    undeliveredReport([pipeline, delivery], delivery.quarantinedProjects);
  const refusals = new RefusalCounts();
  const { store, client, gate } = openConfig(options, spool.incarnation, {
    unsettled,
    undelivered,
    refusals,
    settle: (projects, tell) => settlement.wait(projects, tell),
  });
  const sink = options.logSink ?? openSink(options);
  const delivery = new Delivery({
    sink,
    spool,
    logger,
    migrate: settings.clickhouse.migrate,
    quietMs: settings.spool.quietMs,
    onDrained: (incarnation) => client.reportDrained(incarnation),
  });
  const pipeline = new Pipeline({
    settings,
    budget,
    unauthenticated,
    gate,
    unsettled,
    egress,
    metrics,
    refusals,
    tracing,
    logger,
    onRejected,
    config: store,
    recorder: spool,
  });
  const settlement = new Settlement({ delivery, pipeline });
  const release = releasing({ spool, egress, sink, tracing });
  const receiver = await Receiver.listen({
    settings,
    budget,
    unauthenticated,
    onExchange: (exchange, target, verdict) => pipeline.handle(exchange, target, verdict),
    onRefused: (code) => {
      metrics.refused(code);
      refusals.add({ code, project: '', namespace: '', isCallerKnown: false, who: 'other', where: '' });
      onRejected?.({ code, status: REJECTIONS[code].status, method: '', path: '' });
    },
  }).catch(release);

  const notReadyBecause = () => reasonsNotReady(pipeline, store, spool);
  const admin = await listenAdmin({ ...settings.admin, registry: metrics.registry, notReadyBecause }).catch(
    async (error: unknown) => {
      await receiver.close();
      return release(error);
    },
  );
  exposeCertificateExpiry(metrics.registry, () => readFile(path.join(settings.operator.tls.dir, 'tls.crt')));
  metrics.observe({
    store,
    client,
    gate,
    delivery,
    spool,
    budget,
    unauthenticated,
    runningRequests: () => pipeline.running,
    shares: sharedPools({ pipeline, budget, unauthenticated, spool }),
    connectionCount: () => receiver.connectionCount(),
  });

  for (const part of [refusals, delivery, gate]) part.start();
  const starting = client.start();
  const url = listenUrl('http', settings.host, receiver.port);
  const adminUrl = admin.url;
  refused.add(urlTarget(new URL(adminUrl)));
  logger.info({ url, adminUrl, gateway: settings.name }, 'gateway listening');

  const stop = async (): Promise<void> => {
    logger.info({ runningRequests: pipeline.running }, 'gateway stopping');
    // The readiness probe informs load balancers, and `connection: close` informs callers. New requests are still served.
    const undelayed = pipeline.drain();
    await delay(settings.drainMs);
    // Their connections must be idle when the receiver ends those that are.
    await Promise.race([undelayed, delay(UNDELAYED_MS_MAX, undefined, { ref: false })]);

    const closed = receiver.close();
    const cut = setTimeout(() => receiver.cut(), settings.drainTimeoutMs);
    await Promise.all([
      closed,
      Promise.race([pipeline.idle(), delay(settings.drainTimeoutMs, undefined, { ref: false })]),
    ]);
    clearTimeout(cut);
    refusals.stop();
    // Forwarded requests that are still running become log rows without a response.
    await spool.close();
    await egress.close();
    const bytes = await delivery.stop(settings.drainTimeoutMs);
    if (bytes > 0) logger.warn({ bytes, folder: spool.folder }, 'undelivered rows remain on disk until the next start');
    // If permits could not be returned, the folder stays so that the next process can settle them.
    await spool.leave({ isSettled: await gate.close() });
    await client.stop();
    await starting;
    await Promise.all([sink.close(), admin.close(), tracing?.stop()]);
    logger.info('gateway stopped');
  };
  let stopping: Promise<void> | undefined;
  return { url, adminUrl, ...promptly({ settlement, delivery, spool }), stop: () => (stopping ??= stop()) };
};
