import { LIMITS, type Events, type Objects, type ResourceObject } from '@standin/contract';
import { conditionsIn, readStatus } from '@standin/crds';
import { systemClock, type ReconcileResult } from '@standin/kube';
import { LogStoreError, type LogStore } from '@standin/logstore';
import type { Controller } from '../controller.ts';
import { deleteObject, isTracked } from '../delete-object.ts';
import type { GatewayController } from '../gateways/gateway-controller.ts';
import { isSpecChanged, reconciler, type Change, type ReconcilerParts, type Run } from '../reconciler.ts';
import { conditionContext } from '../status/conditions.ts';
import {
  judgeShare,
  notAccepted,
  requestNotFound,
  shareStatus,
  unknownRequest,
  WORKING,
  type Readiness,
  type ShareVerdict,
} from './judge-share.ts';

export interface ShareControllerOptions extends ReconcilerParts {
  readonly objects: Pick<Objects, 'writeStatus' | 'delete'>;
  readonly events: Events;
  /** Undefined if there is no log store. In that case, requests are not looked up. */
  readonly store: Pick<LogStore, 'version'> | undefined;
  /** Resolves when the store's tables exist. */
  readonly prepareStore: () => Promise<void>;
  readonly deliveredUpTo: GatewayController['deliveredUpTo'];
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock?: () => number;
}

/** The delay before a missing request is looked up again is the time that it has been missing, within these limits. */
const LOOK_AGAIN_MS_MIN = 1_000;
const LOOK_AGAIN_MS_MAX = 30_000;

/**
 * Keeps the conditions of every Share up to date, and deletes Shares that expired long ago, except those that GitOps tools or Helm
 * manage. Runs for one leader's term.
 */
export const shareController = (options: ShareControllerOptions): Controller => {
  const shares = new Shares(options);
  const inNamespace = ({ object }: Change): Iterable<ResourceObject> =>
    options.cache.inNamespace('Share', object.metadata.namespace);
  // Statuses change often, and do not affect Shares.
  const ifSpecChanged = (change: Change): Iterable<ResourceObject> =>
    isSpecChanged(change) ? inNamespace(change) : [];
  return reconciler(options, {
    name: 'shares',
    stage: 'share',
    kinds: ['Share'],
    concurrency: 7,
    backoff: { baseMs: 100, capMs: 30_000 },
    watch: {
      Project: ifSpecChanged,
      Account: ifSpecChanged,
      // A completed Purge may have deleted the requests of Shares.
      Purge: (change) =>
        !change.isRemoved && readStatus('Purge', change.object.status).phase === 'Completed' ? inNamespace(change) : [],
    },
    reconcile: (share, run) => shares.reconcile(share, run),
    removed: ({ metadata }) => shares.forget(metadata.uid),
  });
};

class Shares {
  readonly #options: ShareControllerOptions;
  /** The time when a request was first found to be missing, by the uid of its Share, in milliseconds of `systemClock.now()`. */
  readonly #missingSince = new Map<string, number>();
  /**
   * After a failed lookup, requests that were found before are not looked up until this time, because thousands of timeouts would
   * delay every Share. In milliseconds of `systemClock.now()`.
   */
  #outageUntil = -Infinity;

  constructor(options: ShareControllerOptions) {
    this.#options = options;
  }

  forget(uid: string): void {
    this.#missingSince.delete(uid);
  }

  async reconcile(share: ResourceObject, { writeStatus }: Run): Promise<ReconcileResult | undefined> {
    const { objects, cache, clock = Date.now } = this.#options;
    const now = clock();
    const surroundings = {
      object: (kind: 'Project' | 'Account', namespace: string, name: string) => cache.find({ kind, namespace, name }),
    };
    const { accepted, entry, expiresAtMs } = judgeShare(share, surroundings, now);
    const deletedAtMs = expiresAtMs === undefined || isTracked(share) ? Infinity : expiresAtMs + LIMITS.shareKeptMs;
    if (now >= deletedAtMs) {
      await deleteObject(objects, share);
      return undefined;
    }
    const { readiness, againMs = Infinity } =
      entry === undefined ? { readiness: notAccepted(accepted) } : await this.#look(share, entry);
    const written = await writeStatus(shareStatus(accepted, readiness, conditionContext(share, new Date(now))));
    if (written === 'written') await this.#announce(share, readiness);
    const expiryMs = expiresAtMs !== undefined && now < expiresAtMs ? expiresAtMs : deletedAtMs;
    const nextMs = Math.min(againMs, expiryMs - now);
    return nextMs === Infinity ? undefined : { requeueAfterMs: nextMs };
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

  async #announce(share: ResourceObject, { ready, isStalled }: Readiness): Promise<void> {
    const { ok, reason, message } = ready;
    if (!ok && reason !== 'Expired' && (isStalled || !TRANSIENT.has(reason)))
      await this.#options.events.record(share, { type: 'Warning', reason, message });
  }
}

/** Reasons that are not reported as Events unless the Share is stalled. */
const TRANSIENT: ReadonlySet<string> = new Set(['RequestNotFound', 'Waiting']);
