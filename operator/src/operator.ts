import { once } from 'node:events';
import { LIMITS, SourceError, listenUrl, type GatheredRefusals } from '@standin/contract';
import { RefusedTargets, urlTarget } from '@standin/egress';
import { listenAdmin } from '@standin/process/admin-server';
import { exposeCertificateExpiry } from '@standin/process/process-metrics';
import type { Logger } from 'pino';
import { operatorMetrics } from './metrics.ts';
import { DesiredState } from './desired-state.ts';
import { createControllers, type Controllers } from './controllers.ts';
import type { CachedObjects } from './object-cache.ts';
import type { OperatorParts } from './operator-parts.ts';
import { awaitCertificate, renewCertificate } from './publish/certificate-renewal.ts';
import type { ServerCertificate } from './publish/certificates.ts';
import type { Term } from './publish/leadership.ts';
import { StreamServer } from './publish/stream-server.ts';
import { countedWrites } from './quota/ledger-store.ts';
import { QuotaAudit } from './quota/quota-audit.ts';
import { openReplayParts } from './replay/open-replay-parts.ts';
import { refusedTargets } from './settings.ts';
import { Translator } from './translate/index.ts';

export interface Operator {
  /** URL of the config stream. */
  readonly streamUrl: string;
  readonly adminUrl: string;
  /** Resolves when the sources have been read once. Rejects if they can never be read. */
  readonly synced: Promise<void>;
  /** Resolves when the operator has stopped. Rejects on a fatal error. */
  readonly ended: Promise<void>;
  /** All objects in the sources. */
  readonly cache: CachedObjects;
  /** Computes the verdict on each object, and the gateways' configuration. */
  readonly translator: Translator;
  /**
   * Returns whether this operator leads, has read every account's key and has published all changes, and whether at least one
   * gateway holds the latest revision.
   */
  isSettled(): boolean;
  /** Asks the gateways which requests to a project they refused. Rejects with `SourceError`, even if this operator does not lead. */
  gatherRefusals(projectUid: string): Promise<GatheredRefusals>;
  /** Stops the operator. Resolves when everything is closed. The leader's lease is released first. */
  stop(): Promise<void>;
}

const openAudit = (
  { logStore, ledgers, logger, registry }: OperatorParts,
  cache: CachedObjects,
  onChange: (accountUid: string) => void,
): QuotaAudit | undefined => {
  if (logStore === undefined) return undefined;
  return new QuotaAudit({
    store: ledgers,
    logStore,
    cache,
    onChange,
    registry,
    logger: logger.child({ stage: 'quota' }),
  });
};

/**
 * Runs the operator: sources → translate → publish → status. Every replica reads and translates. Only the leader reads and creates
 * keys, publishes, grants quota, carries out one-time operations and writes status. Rejects if it cannot listen.
 */
export const runOperator = async (parts: OperatorParts): Promise<Operator> => {
  const { settings, source, logger, registry, logStore } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;

  // Probes respond from the start. The other parts may have to wait for the API server.
  let isSynced = false;
  const notReadyBecause = (): string[] => (isSynced ? [] : ['the sources have not been read yet']);
  const admin = await listenAdmin({ ...settings.admin, registry, notReadyBecause });
  const { server, certificate } = await listenForGateways(parts, signal).catch(async (error: unknown) => {
    await admin.close();
    throw error;
  });

  // sources → translate
  let controllers: Controllers | undefined;
  const { desired, translator } = translateSources(parts, () => controllers);
  const streamUrl = listenUrl('https', settings.stream.host, server.port);
  const { refused = new RefusedTargets([]) } = parts;
  for (const url of [streamUrl, admin.url]) refused.add(urlTarget(new URL(url)));
  for (const target of refusedTargets(settings)) refused.add(target);
  const replays = openReplayParts({ settings, store: logStore, registry, refused, logger });
  const audit = openAudit(parts, desired.cache, (uid) => controllers?.statuses.enqueue(uid));
  const metrics = operatorMetrics(registry, { objects: () => desired.cache.values(), leading: () => controllers });
  const synced = Promise.all([source.objects.start(desired, signal), parts.services?.start(desired, signal)]).then(
    () => {
      desired.synced();
      isSynced = true;
      logger.info({ objects: desired.cache.size }, 'sources synced');
    },
  );

  // keys → publish → status, while this operator leads
  const lead = async (term: Term): Promise<void> => {
    const ledgers = countedWrites(parts.ledgers, () => metrics.ledgerWrites.inc());
    controllers = createControllers(term, { ...parts, desired, translator, server, metrics, audit, replays, ledgers });
    try {
      await controllers.start();
      await aborted(term.signal);
    } finally {
      const stopped = controllers.manager.stop();
      controllers = undefined;
      await stopped;
    }
  };
  const onNewLeader = ({ url }: { readonly url: string | undefined }): void => {
    // This operator's own URL is ignored, because the URL is outdated as soon as this operator no longer leads.
    server.leaderUrl = url === settings.stream.url ? undefined : url;
  };
  const leading = synced.then(() => parts.leadership.run({ signal, onNewLeader, onStartedLeading: lead }));
  let held = certificate;
  exposeCertificateExpiry(parts.registry, () => held.cert);
  const onCertificate = (changed: ServerCertificate): void => {
    held = changed;
    server.setCertificate(changed);
  };
  const renewing = renewCertificate(parts.certificates, certificate, onCertificate, { logger, signal });
  const ended = allEnded([leading, renewing], signal, logger);

  return {
    streamUrl,
    adminUrl: admin.url,
    synced,
    ended,
    cache: desired.cache,
    translator,
    isSettled: () => controllers?.isSettled() ?? false,
    gatherRefusals: (uid) =>
      controllers?.refusals.gather(uid) ??
      Promise.reject(new SourceError('Unavailable', 'the operator is starting: try again in a few seconds')),
    stop: async () => {
      stopping.abort();
      await Promise.allSettled([leading, renewing]);
      desired.close();
      await replays.close();
      await server.close();
      await admin.close();
    },
  };
};

const listenForGateways = async (
  parts: OperatorParts,
  signal: AbortSignal,
): Promise<{ server: StreamServer; certificate: ServerCertificate }> => {
  const { host, port } = parts.settings.stream;
  const logger = parts.logger.child({ stage: 'publish' });
  const certificate = await awaitCertificate(parts.certificates, logger, signal);
  const server = await StreamServer.listen({ host, port, certificate, logger });
  return { server, certificate };
};

/** Connects the sources to the translator, and passes the results to the leader if this operator leads. */
const translateSources = (parts: OperatorParts, controllers: () => Controllers | undefined) => {
  const translator = new Translator(parts.translateSettings);
  const desired = new DesiredState({
    translator,
    holdOffMs: LIMITS.holdOffMs,
    logger: parts.logger,
    onSeen: (object, before) => controllers()?.manager.changed(object, before),
    onChanges: (changes) => controllers()?.manager.translated(changes),
    onRemoved: (object) => {
      controllers()?.manager.removed(object);
      parts.onRemoved?.(object);
    },
    onProblems: (problems) => parts.onProblems?.(problems),
  });
  return { translator, desired };
};

/**
 * Resolves when all of `works` have ended. Rejects on an error before the stop, and logs it even if no caller awaits the result.
 */
const allEnded = (works: readonly Promise<void>[], signal: AbortSignal, logger: Logger): Promise<void> => {
  const ended = Promise.all(works).then(
    () => undefined,
    (error: unknown) => {
      if (signal.aborted) return;
      logger.fatal({ err: error }, 'operator failed');
      throw error;
    },
  );
  ended.catch(() => undefined);
  return ended;
};

const aborted = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, 'abort');
};
