import { LIMITS, type Events, type ObjectRef, type Objects, type ResourceObject } from '@standin/contract';
import { conditionsIn, readStatus } from '@standin/crds';
import { systemClock, WorkQueue } from '@standin/kube';
import { LogStoreError, type LogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { aboutObject } from '../about-object.ts';
import type { Controller } from '../controller.ts';
import { deleteObject, isTracked } from '../delete-object.ts';
import type { GatewayController } from '../gateways/gateway-controller.ts';
import type { CachedObjects } from '../object-cache.ts';
import { contextOf } from '../status/conditions.ts';
import { refOf, StatusWriter } from '../status/status-writer.ts';
import type { Finding } from '../translate/index.ts';
import {
  judgeShare,
  notAccepted,
  requestNotFound,
  statusOf,
  unknownRequest,
  WORKING,
  type Readiness,
  type ShareVerdict,
} from './judge-share.ts';

export interface ShareControllerOptions {
  readonly objects: Pick<Objects, 'writeStatus' | 'delete'>;
  readonly events: Events;
  readonly cache: CachedObjects;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Undefined if there is no log store. In that case, requests are not looked up. */
  readonly store: Pick<LogStore, 'version'> | undefined;
  /** Resolves when the store's tables exist. */
  readonly prepareStore: () => Promise<void>;
  readonly deliveredUpTo: GatewayController['deliveredUpTo'];
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock?: () => number;
}

const WORKERS = 7;
const BACKOFF = { baseMs: 100, capMs: 30_000 };
/** The delay before a missing request is looked up again is the time that it has been missing, within these limits. */
const LOOK_AGAIN_MS_MIN = 1_000;
const LOOK_AGAIN_MS_MAX = 30_000;

const keyOf = ({ kind, namespace, name }: ObjectRef): string => `${kind} ${namespace}/${name}`;

/**
 * Keeps the conditions of every Share up to date, and deletes Shares that expired long ago, except those that GitOps tools or Helm
 * manage. Runs for one leader's term.
 */
export class ShareController implements Controller {
  readonly name = 'shares';
  readonly #options: ShareControllerOptions;
  readonly #queue: WorkQueue;
  readonly #writer: StatusWriter;
  /** Shares by uid. */
  readonly #shares = new Map<string, ResourceObject>();
  /** Their uids by namespace. */
  readonly #uids = new Map<string, Set<string>>();
  /** The time when a request was first found to be missing, by the uid of its Share, in milliseconds of `systemClock.now()`. */
  readonly #missingSince = new Map<string, number>();
  /**
   * After a failed lookup, requests that were found before are not looked up until this time, because thousands of timeouts would
   * delay every Share. In milliseconds of `systemClock.now()`.
   */
  #outageUntil = -Infinity;
  /** Projects and Accounts by kind, namespace and name. */
  readonly #surroundings = new Map<string, ResourceObject>();

  constructor(options: ShareControllerOptions) {
    this.#options = options;
    const { objects, cache, registry, logger } = options;
    this.#writer = new StatusWriter(objects);
    this.#queue = new WorkQueue({
      name: 'shares',
      concurrency: WORKERS,
      backoff: BACKOFF,
      registry,
      logger: logger.child({ stage: 'share' }),
      about: (uid) => aboutObject(cache, uid),
      reconcile: async (uid) => {
        const requeueAfterMs = await this.#reconcile(uid);
        return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
      },
    });
  }

  start(): void {
    // Shares are last, because each Project or Account would enqueue all those of its namespace again.
    const { shares = [], others = [] } = Object.groupBy(this.#options.cache.values(), ({ kind }) =>
      kind === 'Share' ? 'shares' : 'others',
    );
    for (const object of [...others, ...shares]) this.changed(object);
  }

  changed(object: ResourceObject): void {
    const { uid, namespace } = object.metadata;
    switch (object.kind) {
      case 'Share':
        this.#shares.set(uid, object);
        this.#uids.set(namespace, (this.#uids.get(namespace) ?? new Set()).add(uid));
        if (!this.#writer.isEcho(object)) this.#queue.add(uid);
        break;
      case 'Project':
      case 'Account':
        this.#change(object, object);
        break;
      case 'Purge':
        // A completed Purge may have deleted the requests of Shares.
        if (readStatus('Purge', object.status).phase === 'Completed') this.#enqueueIn(namespace);
        break;
      case 'Endpoint':
      case 'Replay':
      case 'KeyRegeneration':
    }
  }

  removed(object: ResourceObject): void {
    const { uid, namespace } = object.metadata;
    this.#shares.delete(uid);
    const uids = this.#uids.get(namespace);
    uids?.delete(uid);
    if (uids?.size === 0) this.#uids.delete(namespace);
    this.#writer.forget(uid);
    this.#missingSince.delete(uid);
    const known = this.#surroundings.get(keyOf(refOf(object)));
    // A new object with the same name may already exist.
    if (known?.metadata.uid === uid) this.#change(object, undefined);
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
    this.#enqueueIn(object.metadata.namespace);
  }

  #enqueueIn(namespace: string): void {
    for (const uid of this.#uids.get(namespace) ?? []) this.#queue.add(uid);
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
    const { accepted, entry, expiresAtMs } = judgeShare(share, surroundings, now);
    const newest = this.#writer.newest(share);
    const deletedAtMs = expiresAtMs === undefined || isTracked(share) ? Infinity : expiresAtMs + LIMITS.shareKeptMs;
    if (now >= deletedAtMs) {
      await deleteObject(this.#options.objects, newest);
      return undefined;
    }
    const { readiness, againMs = Infinity } =
      entry === undefined ? { readiness: notAccepted(accepted) } : await this.#look(newest, entry);
    await this.#report(newest, accepted, readiness, now);
    const expiryMs = expiresAtMs !== undefined && now < expiresAtMs ? expiresAtMs : deletedAtMs;
    const nextMs = Math.min(againMs, expiryMs - now);
    return nextMs === Infinity ? undefined : nextMs;
  }

  /** Looks up the request in the log. Resolves with the delay until the next lookup, if one is necessary. */
  async #look(
    { metadata: { uid, namespace, generation }, status }: ResourceObject,
    entry: NonNullable<ShareVerdict['entry']>,
  ): Promise<{ readonly readiness: Readiness; readonly againMs?: number }> {
    const { store, prepareStore, deliveredUpTo } = this.#options;
    if (store === undefined) return { readiness: WORKING };
    const wasReady = conditionsIn(status).some(
      (condition) =>
        condition.type === 'Ready' && condition.status === 'True' && condition.observedGeneration === generation,
    );
    const now = systemClock.now();
    if (wasReady && now < this.#outageUntil) return { readiness: WORKING, againMs: LOOK_AGAIN_MS_MAX };
    const since = this.#missingSince.get(uid) ?? now;
    // The delivery time must be read before the lookup, so that the lookup finds everything that was delivered by that time.
    const isDelivered = deliveredUpTo({ projectUid: entry.projectUid, namespace }) > since;
    try {
      await prepareStore();
      const row = await store.version(entry.requestId);
      // The dashboard applies the same rule when the link is opened (ADR 024).
      const isOfProject =
        row?.projectUid === entry.projectUid && row.namespace === namespace && row.project === entry.project;
      if (isOfProject) {
        this.#missingSince.delete(uid);
        return { readiness: WORKING };
      }
      this.#missingSince.set(uid, since);
      // If the id belongs to another Project's request, this request never appears, because an id is never used twice.
      if (isDelivered || row !== undefined) return { readiness: requestNotFound(entry, false) };
      const againMs = Math.min(LOOK_AGAIN_MS_MAX, Math.max(LOOK_AGAIN_MS_MIN, now - since));
      return { readiness: requestNotFound(entry, true), againMs };
    } catch (error) {
      if (!(error instanceof LogStoreError)) throw error;
      this.#outageUntil = systemClock.now() + LOOK_AGAIN_MS_MAX;
      return { readiness: wasReady ? WORKING : unknownRequest(error), againMs: LOOK_AGAIN_MS_MAX };
    }
  }

  async #report(share: ResourceObject, accepted: Finding, readiness: Readiness, now: number): Promise<void> {
    const status = statusOf(accepted, readiness, contextOf(share, new Date(now)));
    if ((await this.#writer.write(share, status)) !== 'written') return;
    const { ok, reason, message } = readiness.ready;
    if (!ok && reason !== 'Expired' && (readiness.isStalled || !TRANSIENT.has(reason)))
      await this.#options.events.record(share, { type: 'Warning', reason, message });
  }
}

/** Reasons that are not reported as Events unless the Share is stalled. */
const TRANSIENT: ReadonlySet<string> = new Set(['RequestNotFound', 'Waiting']);
