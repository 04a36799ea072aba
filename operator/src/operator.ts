import { once } from 'node:events';
import { LIMITS, type ResourceObject, type ResourceSource, type SourceProblem } from '@standin/contract';
import { WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { AdminServer } from './admin/admin-server.ts';
import { operatorMetrics } from './admin/metrics.ts';
import { DesiredState } from './desired-state.ts';
import { AccountKeys } from './keys/account-keys.ts';
import { Leader } from './leader.ts';
import { awaitCertificates, keepCertificates, type CertificateStore } from './publish/certificate-keeper.ts';
import { serverCertificate, type Certificates } from './publish/certificates.ts';
import type { GatewayMemory } from './publish/gateway-memory.ts';
import type { Leadership, Term } from './publish/leadership.ts';
import { StreamServer } from './publish/stream-server.ts';
import type { OperatorSettings } from './settings.ts';
import type { StatusWritten } from './status/status-writer.ts';
import { Translator, type TranslateSettings } from './translate/index.ts';

export interface OperatorParts {
  readonly settings: OperatorSettings;
  readonly translateSettings: TranslateSettings;
  readonly source: ResourceSource;
  readonly certificates: CertificateStore;
  readonly leadership: Leadership;
  readonly gatewayMemory: GatewayMemory;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Called with every status that was written. */
  readonly onStatus?: (written: StatusWritten) => void;
  /** Called with what is wrong with the source's input as a whole, each time that changes. */
  readonly onProblems?: (problems: readonly SourceProblem[]) => void;
}

export interface Operator {
  /** Where gateways connect. */
  readonly streamUrl: string;
  readonly adminUrl: string;
  /** Resolves when the sources were read once; rejects when they never can be. */
  readonly synced: Promise<void>;
  /** Every object that the sources have, by uid. */
  readonly objects: ReadonlyMap<string, ResourceObject>;
  /** What is said of each object, and what gateways are told. */
  readonly translator: Translator;
  /** Whether this operator leads, has read every account's key, and at least one gateway holds the newest revision. */
  isSettled(): boolean;
  /** Resolves when everything is closed; the leader's lease is released first. */
  stop(): Promise<void>;
}

const KEY_WORKERS = 8;

/**
 * The operator: sources → translate → publish → status (design §2). Every replica reads and translates; the leader publishes,
 * writes status and makes keys.
 */
export const runOperator = async (parts: OperatorParts): Promise<Operator> => {
  const { settings, source, logger, registry } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;

  const certificates = await awaitCertificates(parts.certificates, logger, signal);
  const server = await StreamServer.listen({
    host: settings.stream.host,
    port: settings.stream.port,
    certificate: serverCertificate(certificates),
    logger: logger.child({ stage: 'publish' }),
  });
  const admin = await AdminServer.listen({ ...settings.admin, registry });

  // sources → translate
  let leader: Leader | undefined;
  const { desired, translator, keys, keyQueue } = translateSources(parts, () => leader);
  const metrics = operatorMetrics(registry, { objects: () => desired.objects.values(), leading: () => leader });
  const synced = source.start(desired, signal).then(() => {
    desired.flush();
    admin.setReady();
    logger.info({ objects: desired.objects.size }, 'sources synced');
  });

  // publish → status, for as long as this operator leads
  const lead = async (term: Term): Promise<void> => {
    const current = new Leader(term, {
      ...{ source, desired, translator, keys, server, metrics, logger, registry },
      gatewayForgetMs: settings.stream.gatewayForgetMs,
      gatewayMemory: parts.gatewayMemory,
      onStatus: parts.onStatus,
    });
    leader = current;
    try {
      await current.begin();
      await aborted(term.signal);
    } finally {
      leader = undefined;
      await current.end();
    }
  };
  const onNewLeader = ({ url }: { readonly url: string | undefined }): void => {
    if (leader === undefined) server.follow(url);
  };
  const leading = synced.then(() => parts.leadership.run({ signal, onNewLeader, onStartedLeading: lead }));
  const onCertificates = (changed: Certificates): void => server.setCertificate(serverCertificate(changed));
  const keeping = keepCertificates(parts.certificates, certificates, onCertificates, { logger, signal });

  return {
    streamUrl: `https://${settings.stream.host}:${server.port}`,
    adminUrl: admin.url,
    synced,
    objects: desired.objects,
    translator,
    isSettled: () => leader?.isSettled() ?? false,
    stop: async () => {
      stopping.abort();
      await Promise.allSettled([leading, keeping]);
      desired.close();
      await keyQueue.stop();
      await server.close();
      await admin.close();
    },
  };
};

/** Desired state flows into the translator, keys join in from the side, and what follows goes to the leader. */
const translateSources = (parts: OperatorParts, leader: () => Leader | undefined) => {
  const { settings, source, logger, registry } = parts;
  const translator = new Translator(parts.translateSettings);
  const keys = new AccountKeys({
    source,
    logger: logger.child({ stage: 'keys' }),
    onKey: (uid, state) => desired.setKey(uid, state),
    isLeader: () => leader() !== undefined,
    pollMs: settings.secretPollMs,
  });
  const keyQueue = new WorkQueue({
    name: 'keys',
    concurrency: KEY_WORKERS,
    registry,
    logger,
    reconcile: (uid) => keys.reconcile(uid),
  });
  const desired = new DesiredState({
    translator,
    holdOffMs: LIMITS.holdOffMs,
    logger,
    onChanges: (changes) => {
      for (const { uid, keySecret } of changes.verdicts) {
        const object = desired.objects.get(uid);
        if (object === undefined || keySecret === undefined) continue;
        keys.set(object, keySecret);
        keyQueue.add(uid);
      }
      leader()?.apply(changes);
    },
    onRemoved: (object) => {
      keys.delete(object.metadata.uid);
      leader()?.forget(object);
    },
    onProblems: (problems) => parts.onProblems?.(problems),
  });
  return { translator, desired, keys, keyQueue };
};

const aborted = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, 'abort');
};
