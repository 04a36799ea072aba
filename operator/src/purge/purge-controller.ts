import type { Events, ResourceObject } from '@standin/contract';
import { readStatus } from '@standin/crds';
import { systemClock, type ReconcileResult } from '@standin/kube';
import { LogStoreError, type LogStore, type PurgeFilter } from '@standin/logstore';
import { endedOperation, isPending, NO_LOG_STORE } from '../operations/operation-conditions.ts';
import type { Controller } from '../controller.ts';
import type { GatewayController } from '../gateways/gateway-controller.ts';
import { reconciler, type ReconcilerParts, type Run } from '../reconciler.ts';
import type { ReplayController } from '../replay/replay-controller.ts';
import { conditionContext } from '../status/conditions.ts';
import { fails } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';
import { planPurge } from './plan-purge.ts';
import {
  completed,
  pending,
  refused,
  requests,
  running,
  purgeStatus,
  waiting,
  type PurgeFacts,
} from './purge-report.ts';

export interface PurgeControllerOptions extends ReconcilerParts {
  readonly events: Events;
  /** Undefined if there is no log store. */
  readonly store: Pick<LogStore, 'purges'> | undefined;
  /** Resolves when the store's tables exist. */
  readonly prepareStore: () => Promise<void>;
  /** The finding for a Project's `Accepted` condition. Undefined if it is not known. */
  readonly acceptedFinding: (projectUid: string) => Finding | undefined;
  /** See `undelivered`. */
  readonly undelivered: (wanted: Parameters<GatewayController['undelivered']>[0]) => readonly string[];
  /** Asks the gateways for new reports, on which `undelivered` is based. */
  readonly askForReports: () => void;
  readonly replays: Pick<ReplayController, 'storing'>;
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock?: () => number;
}

/** The longest interval at which the state of gateways and deletions is read. */
const LATER = { requeueAfterMs: 1_000 };
/**
 * A report and a deletion usually take a fraction of a second. The first interval is this long, and each further one twice as long as
 * the last.
 */
const FIRST_MS = 100;
const AFTER_ERROR = { requeueAfterMs: 10_000 };
/**
 * `status.before` is at most this long after this leader first saw the Purge. Creation times have a precision of a second, and the
 * clocks of the API server and of this operator are assumed to differ by less than a second.
 */
const BEFORE_MS_MAX = 2_000;

/** Creates the controller of Purges. Runs for one leader's term. */
export const purgeController = (options: PurgeControllerOptions): Controller => {
  const purges = new Purges(options);
  return reconciler(options, {
    name: 'purges',
    stage: 'purge',
    kinds: ['Purge'],
    concurrency: 3,
    backoff: { baseMs: 200, capMs: 30_000 },
    // Later reports need no check, because a Purge's spec cannot change, and only this controller writes its status.
    when: ({ before }) => before === undefined,
    watch: {
      Project: ({ object, isRemoved }) =>
        isRemoved ? [] : [...options.cache.operationsFor(object, 'Purge')].filter(isPending),
    },
    reconcile: (purge, run) => purges.reconcile(purge, run),
    removed: ({ metadata }) => purges.forget(metadata.uid),
  });
};

/**
 * Deletes the requests that Purges select. Each step determines what is already done, so a purge resumes after a crash at any point:
 * - Wait until every request of the Project that was received before the Purge was created is in the log.
 * - Delete the requests, until none is found on any ClickHouse replica.
 * - Wait for replays that may have read the deleted requests, and delete the results of those replays.
 */
class Purges {
  readonly #options: PurgeControllerOptions;
  /** The times when this leader first saw a Purge, by its uid, in milliseconds of `systemClock.now()`. */
  readonly #seenAt = new Map<string, number>();
  /** How often this leader has asked for reports, by the Purge's uid. */
  readonly #asks = new Map<string, number>();
  /** How often this leader has read the state of the deletion, by the Purge's uid. */
  readonly #reads = new Map<string, number>();
  /** The times when this leader found the requests to be gone, by the Purge's uid, in milliseconds of `systemClock.now()`. */
  readonly #goneAt = new Map<string, number>();

  constructor(options: PurgeControllerOptions) {
    this.#options = options;
  }

  forget(uid: string): void {
    this.#seenAt.delete(uid);
    this.#asks.delete(uid);
    this.#reads.delete(uid);
    this.#goneAt.delete(uid);
  }

  get #nowMs(): number {
    return (this.#options.clock ?? Date.now)();
  }

  async reconcile(purge: ResourceObject, { writeStatus }: Run): Promise<ReconcileResult | undefined> {
    const { cache, acceptedFinding } = this.#options;
    const { uid } = purge.metadata;
    if (endedOperation(purge) !== undefined) return undefined;
    const seenAt = this.#seenAt.get(uid) ?? systemClock.now();
    this.#seenAt.set(uid, seenAt);
    const plan = planPurge(purge, cache, acceptedFinding);
    const report = (facts: PurgeFacts) => this.#report(purge, facts, writeStatus);
    if (plan.kind === 'refused') return report(refused(plan.finding));
    if (plan.kind === 'waiting') {
      const leftMs = plan.untilMs - this.#nowMs;
      if (leftMs <= 0) {
        const message = `${plan.finding.message} This Purge waited for a day: create another one.`;
        return report(refused({ ...plan.finding, message }));
      }
      return (await report(pending(plan.finding))) ?? { requeueAfterMs: leftMs };
    }
    return this.#purge({ ...plan, purge, seenAt, writeStatus });
  }

  async #purge({ purge, project, filter, seenAt, writeStatus }: ReadyPurge): Promise<ReconcileResult> {
    const { store, prepareStore, undelivered } = this.#options;
    if (store === undefined) {
      const finding = fails('NoLogStore', NO_LOG_STORE);
      return (await this.#report(purge, pending(finding), writeStatus)) ?? AFTER_ERROR;
    }
    const report = async (facts: PurgeFacts, next: ReconcileResult): Promise<ReconcileResult> =>
      (await this.#report(purge, { ...facts, beforeUs: filter.untilUs }, writeStatus)) ?? next;
    const { projectUid, namespace } = filter;
    const before = seenAt + BEFORE_MS_MAX;
    const late = undelivered({ projectUid, namespace, before });
    if (late.length > 0) return report(waiting(late), this.#askLater(purge.metadata.uid, before));
    try {
      await prepareStore();
      const facts = await this.#step(purge, filter, store.purges);
      const next = await report(facts, facts.phase === 'Running' ? soon(this.#reads, purge.metadata.uid) : LATER);
      if (facts.phase === 'Completed') await this.#announce(purge, project);
      return next;
    } catch (error) {
      if (!(error instanceof LogStoreError)) throw error;
      const advice = error.isTooSlow
        ? ' The search takes too long on a day with many requests. If this lasts, delete this Purge and create one with a simpler search.'
        : '';
      return report(running(`${error.message}. The operator tries again.${advice}`), AFTER_ERROR);
    }
  }

  /** Asks for reports if they can cover the time before `before`, in milliseconds of `systemClock.now()`. */
  #askLater(uid: string, before: number): ReconcileResult {
    const leftMs = before - systemClock.now();
    if (leftMs > 0) return { requeueAfterMs: Math.min(leftMs, LATER.requeueAfterMs) };
    this.#options.askForReports();
    return soon(this.#asks, uid);
  }

  async #step(purge: ResourceObject, filter: PurgeFilter, purges: LogStore['purges']): Promise<PurgeFacts> {
    const { uid } = purge.metadata;
    const { matched } = readStatus('Purge', purge.status);
    // The count is written before the deletion begins, because deleted requests cannot be counted.
    if (matched === undefined) {
      const count = await purges.count(filter);
      return running(`Deleting ${requests(count)}.`, count);
    }
    const step = await purges.requests(filter);
    if (step !== 'done') return running(this.#progress(step, `Deleting ${requests(matched)}.`));
    const goneAt = this.#goneAt.get(uid) ?? systemClock.now();
    this.#goneAt.set(uid, goneAt);
    const { namespace, project } = filter;
    const replays = this.#options.replays.storing({ namespace, name: project }, goneAt).toSorted();
    if (replays.length > 0)
      return waiting(
        replays.map((name) => `Replay ${name}`),
        'A replay may be sending deleted requests.',
      );
    const results = await purges.results(filter);
    if (results !== 'done') return running(this.#progress(results, 'Deleting the results of replays.'));
    return completed(matched);
  }

  #progress(step: 'running' | 'failing', message: string): string {
    return step === 'running'
      ? message
      : `${message} ClickHouse reports an error and tries again: see system.mutations.`;
  }

  async #announce(purge: ResourceObject, project: ResourceObject): Promise<void> {
    const { events, logger } = this.#options;
    const { matched = 0 } = readStatus('Purge', purge.status);
    const { name, namespace } = purge.metadata;
    logger.info({ namespace, name, project: project.metadata.name, requests: matched }, 'requests purged');
    const message = `Purge ${name} deleted ${requests(matched)} from the log.`;
    await events.record(project, { type: 'Normal', reason: 'Purged', message });
  }

  /** Writes the status. Resolves with the delay before the next attempt if the object was deleted or changed after it was read. */
  async #report(
    purge: ResourceObject,
    facts: PurgeFacts,
    writeStatus: Run['writeStatus'],
  ): Promise<ReconcileResult | undefined> {
    const written = await writeStatus(purgeStatus(facts, conditionContext(purge, new Date(this.#nowMs))));
    if (written === 'written' && facts.phase === 'Refused') {
      const { reason, message } = facts.accepted;
      await this.#options.events.record(purge, { type: 'Warning', reason, message });
    }
    return written === 'outdated' ? LATER : undefined;
  }
}

/** Returns the next interval, which is longer each time. */
const soon = (counts: Map<string, number>, uid: string): ReconcileResult => {
  const count = counts.get(uid) ?? 0;
  counts.set(uid, count + 1);
  return { requeueAfterMs: Math.min(FIRST_MS * 2 ** count, LATER.requeueAfterMs) };
};

interface ReadyPurge extends Pick<Run, 'writeStatus'> {
  readonly purge: ResourceObject;
  readonly project: ResourceObject;
  readonly filter: PurgeFilter;
  readonly seenAt: number;
}
