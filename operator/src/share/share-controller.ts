import { LIMITS, type ObjectRef, type ResourceObject, type ResourceSource } from '@standin/contract';
import { WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Controller } from '../controller.ts';
import { deleteObject } from '../delete-object.ts';
import { contextOf } from '../status/conditions.ts';
import { refOf, StatusWriter } from '../status/status-writer.ts';
import type { Finding } from '../translate/index.ts';
import { judgeShare, statusOf } from './judge-share.ts';

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

const keyOf = ({ kind, namespace, name }: ObjectRef): string => `${kind} ${namespace}/${name}`;

/** Keeps every Share's condition up to date, and removes Shares that expired long ago, for one leader's term. */
export class ShareController implements Controller {
  readonly name = 'shares';
  readonly #options: ShareControllerOptions;
  readonly #queue: WorkQueue;
  readonly #writer: StatusWriter;
  /** Shares by uid. */
  readonly #shares = new Map<string, ResourceObject>();
  /** Projects and Accounts by kind and name. */
  readonly #surroundings = new Map<string, ResourceObject>();

  constructor(options: ShareControllerOptions) {
    this.#options = options;
    const { source, registry, logger } = options;
    this.#writer = new StatusWriter(source);
    this.#queue = new WorkQueue({
      ...{ name: 'shares', concurrency: WORKERS, backoff: BACKOFF, registry },
      logger: logger.child({ stage: 'share' }),
      reconcile: async (uid) => {
        const requeueAfterMs = await this.#reconcile(uid);
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
    this.#writer.forget(object.metadata.uid);
    const known = this.#surroundings.get(keyOf(refOf(object)));
    // A new object with the same name may already exist.
    if (known?.metadata.uid === object.metadata.uid) this.#change(object, undefined);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  /** Enqueues the affected Shares. Ignores statuses, which change often and do not affect Shares. */
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

  /** Resolves with the delay until the next check. */
  async #reconcile(uid: string): Promise<number | undefined> {
    const share = this.#shares.get(uid);
    if (share === undefined) return undefined;
    const now = (this.#options.clock ?? Date.now)();
    const surroundings = {
      object: (kind: 'Project' | 'Account', namespace: string, name: string) =>
        this.#surroundings.get(keyOf({ kind, namespace, name })),
    };
    const { accepted, expiresAtMs } = judgeShare(share, surroundings, now);
    if (expiresAtMs !== undefined && now >= expiresAtMs + LIMITS.shareKeptMs) {
      await deleteObject(this.#options.source, share);
      return undefined;
    }
    await this.#report(share, accepted, now);
    if (expiresAtMs === undefined) return undefined;
    return (now < expiresAtMs ? expiresAtMs : expiresAtMs + LIMITS.shareKeptMs) - now;
  }

  async #report(share: ResourceObject, accepted: Finding, now: number): Promise<void> {
    const newest = this.#writer.newest(share);
    if ((await this.#writer.write(newest, statusOf(accepted, contextOf(newest, new Date(now))))) !== 'written') return;
    const { ok, reason, message } = accepted;
    if (!ok && reason !== 'Expired')
      await this.#options.source.recordEvent(share, { type: 'Warning', reason, message });
  }
}
