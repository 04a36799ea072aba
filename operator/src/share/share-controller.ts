import { LIMITS, SourceError, type ObjectRef, type ResourceObject, type ResourceSource } from '@standin/contract';
import { WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Controller } from '../controller.ts';
import { statusDifference, type StatusFields } from '../status/status-difference.ts';
import { conditionsIn } from '../status/status-writer.ts';
import type { Finding } from '../translate/index.ts';
import { judgeShare } from './share-finding.ts';

export interface ShareControllerOptions {
  readonly source: ResourceSource;
  readonly objects: ReadonlyMap<string, ResourceObject>;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
}

const WORKERS = 4;
const BACKOFF = { baseMs: 100, capMs: 30_000 };

const refOf = ({ kind, metadata: { namespace, name } }: ResourceObject): ObjectRef => ({ kind, namespace, name });
const keyOf = ({ kind, namespace, name }: ObjectRef): string => `${kind} ${namespace}/${name}`;

/** Keeps the condition of every Share up to date, and removes Shares that expired long ago, for one leader's term. */
export class ShareController implements Controller {
  readonly name = 'shares';
  readonly #options: ShareControllerOptions;
  readonly #queue: WorkQueue;
  /** Shares by uid. */
  readonly #shares = new Map<string, ResourceObject>();
  /** Projects and Accounts by kind and name. */
  readonly #surroundings = new Map<string, ResourceObject>();

  constructor(options: ShareControllerOptions) {
    this.#options = options;
    const { registry, logger } = options;
    this.#queue = new WorkQueue({
      ...{ name: 'shares', concurrency: WORKERS, backoff: BACKOFF, registry },
      logger: logger.child({ stage: 'share' }),
      reconcile: async (uid) => {
        const requeueAfterMs = await this.#look(uid);
        return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
      },
    });
  }

  start(): void {
    for (const object of this.#options.objects.values()) this.changed(object);
  }

  changed(object: ResourceObject): void {
    switch (object.kind) {
      case 'Share':
        this.#shares.set(object.metadata.uid, object);
        this.#queue.add(object.metadata.uid);
        break;
      case 'Project':
      case 'Account':
        this.#change(object, object);
        break;
      case 'Endpoint':
      case 'Replay':
      case 'KeyRegeneration':
    }
  }

  removed(object: ResourceObject): void {
    this.#shares.delete(object.metadata.uid);
    const known = this.#surroundings.get(keyOf(refOf(object)));
    // A new object may already have the same name.
    if (known?.metadata.uid === object.metadata.uid) this.#change(object, undefined);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  /** Statuses change often and do not affect Shares. */
  #change(object: ResourceObject, now: ResourceObject | undefined): void {
    const key = keyOf(refOf(object));
    const before = this.#surroundings.get(key);
    if (now === undefined) this.#surroundings.delete(key);
    else this.#surroundings.set(key, now);
    const isSame =
      before !== undefined &&
      before.metadata.uid === now?.metadata.uid &&
      before.metadata.generation === now.metadata.generation;
    if (isSame) return;
    for (const [uid, { metadata }] of this.#shares)
      if (metadata.namespace === object.metadata.namespace) this.#queue.add(uid);
  }

  /** Resolves with the delay until the next look. */
  async #look(uid: string): Promise<number | undefined> {
    const share = this.#shares.get(uid);
    if (share === undefined) return undefined;
    const now = (this.#options.clock ?? Date.now)();
    const surroundings = {
      object: (kind: 'Project' | 'Account', namespace: string, name: string) =>
        this.#surroundings.get(keyOf({ kind, namespace, name })),
    };
    const { accepted, expiresAtMs } = judgeShare(share, surroundings, now);
    if (expiresAtMs !== undefined && now >= expiresAtMs + LIMITS.shareKeptMs) {
      await this.#delete(share);
      return undefined;
    }
    await this.#say(share, accepted, now);
    if (expiresAtMs === undefined) return undefined;
    return (now < expiresAtMs ? expiresAtMs : expiresAtMs + LIMITS.shareKeptMs) - now;
  }

  async #say(share: ResourceObject, { ok, reason, message }: Finding, now: number): Promise<void> {
    const { source } = this.#options;
    const { generation, resourceVersion } = share.metadata;
    const status = ok ? 'True' : 'False';
    const before = conditionsIn(share.status).find(({ type }) => type === 'Accepted');
    const lastTransitionTime =
      before?.status === status ? before.lastTransitionTime : `${new Date(now).toISOString().slice(0, 19)}Z`;
    const condition = { type: 'Accepted', status, reason, message, observedGeneration: generation, lastTransitionTime };
    const current = typeof share.status === 'object' && share.status !== null ? (share.status as StatusFields) : {};
    const patch = statusDifference(current, { observedGeneration: generation, conditions: [condition] });
    if (patch === undefined) return;
    try {
      await source.writeStatus(refOf(share), patch, resourceVersion);
    } catch (error) {
      if (!isOutdated(error)) throw error;
      return;
    }
    if (!ok && reason !== 'Expired') await source.recordEvent(share, { type: 'Warning', reason, message });
  }

  async #delete(share: ResourceObject): Promise<void> {
    const { source } = this.#options;
    const ref = refOf(share);
    try {
      if ((await source.get(ref))?.metadata.uid === share.metadata.uid) await source.delete(ref);
    } catch (error) {
      if (!isOutdated(error)) throw error;
    }
  }
}

/** The object was deleted or changed. The source is about to report that. */
const isOutdated = (error: unknown): boolean =>
  error instanceof SourceError && (error.kind === 'NotFound' || error.kind === 'Conflict');
