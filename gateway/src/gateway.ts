import path from 'node:path';
import { setImmediate as endOfTurn, setTimeout as delay } from 'node:timers/promises';
import { REJECTIONS } from '@standin/contract';
import { createEgress, parseTarget, RefusedTargets, targetOf, type Egress } from '@standin/egress';
import { checkSchema, openLogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { BlockQuotaGate } from './admit/block-quota-gate.ts';
import { ConfigClient } from './config/config-client.ts';
import { ConfigStore } from './config/config-store.ts';
import { DiskCopy } from './config/disk-copy.ts';
import { Delivery } from './deliver/delivery.ts';
import type { LogSink } from './deliver/log-sink.ts';
import { listenAdmin } from './observe/admin-server.ts';
import { Metrics } from './observe/metrics.ts';
import type { Tracing } from './observe/tracing.ts';
import { Pipeline } from './pipeline.ts';
import { Receiver } from './receive/server.ts';
import type { SpoolDisk } from './record/spool/spool-disk.ts';
import { Spool } from './record/spool/spool.ts';
import { ByteBudget } from './request/byte-budget.ts';
import type { RejectedRequest } from './request/refusal.ts';
import type { GatewaySettings } from './settings.ts';

export interface GatewayOptions {
  readonly settings: GatewaySettings;
  readonly logger: Logger;
  /** Where the log goes instead of the ClickHouse of the settings. Closed on `stop`. */
  readonly logSink?: LogSink;
  /** What the spool writes to instead of the machine's file system; tests put faults there. */
  readonly spoolDisk?: SpoolDisk;
  /** What no endpoint may lead to, besides what the gateway adds to it. */
  readonly refused?: RefusedTargets;
  /** What `/metrics` shows besides the gateway's own metrics: those of the process, where it is the gateway's. */
  readonly registry?: Registry;
  /** Told of each request that is refused, for whoever shows them; must not throw. They are in the metrics without it. */
  readonly onRejected?: ((rejected: RejectedRequest) => void) | undefined;
}

export interface Gateway {
  /** Where callers are answered, without a slash at the end. */
  readonly url: string;
  /** Where /metrics, /healthz and /readyz are. */
  readonly adminUrl: string;
  /** Drains, delivers what it can of the log, says goodbye to the operator. Takes at most `drainMs` + 2 × `drainTimeoutMs` and some seconds. */
  stop(): Promise<void>;
}

/** An address that one can connect to, for one on which a server listens. */
const urlOf = (host: string, port: number): string => {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
};

/** Where accepted requests are kept. */
const openSpool = ({ settings, logger, spoolDisk: disk }: GatewayOptions, budget: ByteBudget): Promise<Spool> => {
  const { dataDir, durability } = settings;
  const { dir = path.join(dataDir, 'spool'), bytes: bytesMax, ...limits } = settings.spool;
  return Spool.open({ dir, durability, bytesMax, ...limits, budget, logger, ...(disk !== undefined && { disk }) });
};

/** The configuration in force, what keeps it up to date, and the permits that come from there. */
const openConfig = ({ settings, logger }: GatewayOptions, spool: Spool) => {
  const { name, operator, dataDir, maxStalenessMs } = settings;
  const store = new ConfigStore({ logger, maxStalenessMs });
  const diskCopy = new DiskCopy(dataDir, store, logger);
  const { urls, tls } = operator;
  const decided = async (): Promise<void> => {
    // Whoever was admitted just before is handed to the recorder in the same turn of the event loop; who was refused gives back in another.
    await endOfTurn();
    await spool.decided();
    await endOfTurn();
  };
  const client = new ConfigClient({
    ...{ name, instance: spool.incarnation, urls, tlsDir: tls.dir, maxStalenessMs, store, diskCopy, logger },
    onRecall: (accountUid) => gate.recall(accountUid),
    onConnected: () => gate.connected(),
    decided,
  });
  const gate = new BlockQuotaGate({
    ask: (request) => client.askPermits(request),
    tell: (accounts) => client.tellUsage(accounts),
    decided,
    logger: logger.child({ stage: 'admit' }),
  });
  return { store, client, gate };
};

/** What no endpoint may lead to: parts of Standin, and what the administrator names. */
const refusedBy = ({ settings, refused = new RefusedTargets([]) }: GatewayOptions): RefusedTargets => {
  const { egress, clickhouse, operator } = settings;
  for (const target of egress.refuse.map(parseTarget)) refused.add(target);
  for (const url of [clickhouse.url, ...operator.urls]) refused.add(targetOf(new URL(url)));
  return refused;
};

const openEgress = ({ egress }: GatewaySettings, refused: RefusedTargets, logger: Logger): Egress => {
  const { ca } = egress;
  return createEgress({ policy: egress, refused, logger, ...(ca !== undefined && { ca }) });
};

/** The ClickHouse of the settings. */
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

/** OpenTelemetry's packages are loaded only where somebody wants spans. */
const openTracing = async ({ settings, logger }: GatewayOptions): Promise<Tracing | undefined> => {
  const { url, sampleRatio } = settings.tracing;
  if (url === undefined) return undefined;
  const { Tracing } = await import('./observe/tracing.ts');
  return new Tracing({ url, sampleRatio, name: settings.name, logger });
};

/** Resolves when the gateway listens. Whether it has a configuration by then, `/readyz` says. */
export const runGateway = async (options: GatewayOptions): Promise<Gateway> => {
  const { settings, logger, onRejected } = options;
  const budget = new ByteBudget(settings.limits.inFlightBytes);
  const metrics = new Metrics(options.registry ?? new Registry());
  const tracing = await openTracing(options);
  const spool = await openSpool(options, budget);
  const refused = refusedBy(options);
  const egress = openEgress(settings, refused, logger.child({ stage: 'forward' }));

  const { store, client, gate } = openConfig(options, spool);
  const sink = options.logSink ?? openSink(options);
  const delivery = new Delivery({
    ...{ sink, spool, logger, migrate: settings.clickhouse.migrate, quietMs: settings.spool.quietMs },
    onDrained: (incarnation) => client.tellDrained(incarnation),
  });
  const pipeline = new Pipeline({
    ...{ settings, budget, gate, egress, metrics, tracing, logger, onRejected },
    config: store,
    recorder: spool,
  });
  const receiver = await Receiver.listen({
    settings,
    onExchange: (exchange, target, verdict) => pipeline.handle(exchange, target, verdict),
    onRefused: (code) => {
      metrics.rejected(code);
      onRejected?.({ code, status: REJECTIONS[code].status, method: '', path: '' });
    },
  });

  const notReadyBecause = (): string[] => [
    ...(pipeline.isDraining ? ['stopping'] : []),
    ...(store.tableAt(performance.now()) === undefined ? ['no usable configuration'] : []),
    ...(spool.isFull ? ['the spool is full, or its disk is'] : []),
  ];
  const admin = await listenAdmin({ ...settings.admin, registry: metrics.registry, notReadyBecause }).catch(
    async (error: unknown) => {
      await receiver.close();
      await spool.close();
      throw error;
    },
  );
  metrics.observe({
    ...{ store, client, gate, delivery, spool, budget },
    runningRequests: () => pipeline.running,
    connectionCount: () => receiver.connectionCount(),
  });

  delivery.start();
  gate.start();
  const starting = client.start();
  const url = urlOf(settings.host, receiver.port);
  const adminUrl = urlOf(settings.admin.host, admin.port);
  refused.add(targetOf(new URL(adminUrl)));
  logger.info({ url, adminUrl, gateway: settings.name }, 'gateway listens');

  const stop = async (): Promise<void> => {
    logger.info({ runningRequests: pipeline.running }, 'gateway stops');
    // Load balancers learn of it by the probe, callers by `connection: close`; both still get answers meanwhile.
    pipeline.isDraining = true;
    await delay(settings.drainMs);

    const closed = receiver.close();
    const cut = setTimeout(() => receiver.cut(), settings.drainTimeoutMs);
    await Promise.all([
      closed,
      Promise.race([pipeline.idle(), delay(settings.drainTimeoutMs, undefined, { ref: false })]),
    ]);
    clearTimeout(cut);
    // What is still running now is recorded as it stands.
    await spool.close();
    await egress.close();
    const bytes = await delivery.stop(settings.drainTimeoutMs);
    if (bytes > 0) logger.warn({ bytes, folder: spool.folder }, 'the rest of the log waits on disk for the next start');
    // What could not be given back is settled by the next process, once it has found this folder.
    if (await gate.close()) await spool.removeFolder();
    await client.stop();
    await starting;
    await Promise.all([sink.close(), admin.app.close(), tracing?.stop()]);
    logger.info('gateway stopped');
  };
  let stopping: Promise<void> | undefined;
  return { url, adminUrl, stop: () => (stopping ??= stop()) };
};
