import { isRecord, type Events, type Objects, type ResourceObject } from '@standin/contract';
import { readStatus, type PurgeSpec } from '@standin/crds';
import { systemClock, WorkQueue, type ReconcileResult } from '@standin/kube';
import { LogStoreError, type LogStore, type PurgeFilter } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { aboutObject } from '../about-object.ts';
import { endedOperation, NO_LOG_STORE } from '../operations/operation-conditions.ts';
import type { Controller } from '../controller.ts';
import type { GatewayController } from '../gateways/gateway-controller.ts';
import type { CachedObjects } from '../object-cache.ts';
import type { ReplayController } from '../replay/replay-controller.ts';
import { contextOf } from '../status/conditions.ts';
import { StatusWriter } from '../status/status-writer.ts';
import { fails } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';
import { planPurge } from './plan-purge.ts';
import { completed, pending, refused, requests, running, statusOf, waiting, type PurgeFacts } from './purge-report.ts';

export interface PurgeControllerOptions {
  readonly objects: Pick<Objects, 'writeStatus'>;
  readonly events: Events;
  readonly cache: CachedObjects;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Undefined if there is no log store. */
  readonly store: Pick<LogStore, 'purges'> | undefined;
  /** Resolves when the store's tables exist. */
  readonly prepareStore: () => Promise<void>;
  /** Returns the finding for a Project's `Accepted` condition, or undefined if it is not known. */
  readonly acceptedOf: (projectUid: string) => Finding | undefined;
  /** See `undelivered`. */
  readonly undelivered: (wanted: Parameters<GatewayController['undelivered']>[0]) => readonly string[];
  readonly replays: Pick<ReplayController, 'storing'>;
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock?: () => number;
}

const WORKERS = 3;
const BACKOFF = { baseMs: 200, capMs: 30_000 };
/** The longest interval at which the state of gateways and deletions is read. */
const LATER = { requeueAfterMs: 1_000 };
/** A deletion usually takes a fraction of a second. The first interval is this long, and each further one twice as long as the last. */
const FIRST_MS = 100;
const AFTER_ERROR = { requeueAfterMs: 10_000 };
/**
 * `status.before` is at most this long after this leader first saw the Purge. Creation times have a precision of a second, and the
 * clocks of the API server and of this operator are assumed to differ by less than a second.
 */
const BEFORE_MS_MAX = 2_000;

interface Seen {
  /** When this leader first saw the Purge, in milliseconds of `systemClock.now()`. */
  readonly at: number;
  /** See `projectKey`. */
  readonly project: string;
  /** How often this leader has read the state of the deletion. */
  reads: number;
}

/** Returns the namespace and name of a Purge's Project, without a check of the spec. */
const projectKey = ({ metadata: { namespace }, spec }: ResourceObject): string => {
  const { projectRef }: Partial<PurgeSpec> = isRecord(spec) ? spec : {};
  return `${namespace}/${projectRef?.name ?? ''}`;
};

/**
 * Deletes the requests that Purges select, for one leader's term. Each step determines what is already done, so a purge resumes
 * after a crash at any point:
 * - Wait until every request of the Project that was received before the Purge was created is in the log.
 * - Delete the requests, until none is found on any ClickHouse replica.
 * - Wait for replays that may have read the deleted requests, and delete the results of those replays.
 */
export class PurgeController implements Controller {
  readonly name = 'purges';
  readonly #options: PurgeControllerOptions;
  readonly #queue: WorkQueue;
  readonly #writer: StatusWriter;
  /** The uids of all Purges, by `projectKey`. */
  readonly #purges = new Map<string, Set<string>>();
  readonly #seen = new Map<string, Seen>();
  /** The times when this leader found the requests to be gone, by the Purge's uid, in milliseconds of `systemClock.now()`. */
  readonly #goneAt = new Map<string, number>();

  constructor(options: PurgeControllerOptions) {
    this.#options = options;
    const { objects, cache, registry, logger } = options;
    this.#writer = new StatusWriter(objects);
    this.#queue = new WorkQueue({
      name: this.name,
      concurrency: WORKERS,
      backoff: BACKOFF,
      registry,
      logger: logger.child({ stage: 'purge' }),
      about: (uid) => aboutObject(cache, uid),
      reconcile: (uid) => this.#reconcile(uid),
    });
  }

  start(): void {
    for (const object of this.#options.cache.values()) this.changed(object);
  }

  changed(object: ResourceObject): void {
    const { kind, metadata } = object;
    const { uid, namespace, name } = metadata;
    // Later reports need no check, because a Purge's spec cannot change, and only this controller writes its status.
    if (kind === 'Purge' && !this.#seen.has(uid)) {
      const project = projectKey(object);
      this.#purges.set(project, (this.#purges.get(project) ?? new Set()).add(uid));
      this.#seen.set(uid, { at: systemClock.now(), project, reads: 0 });
      this.#queue.add(uid);
    }
    if (kind !== 'Project') return;
    for (const purge of this.#purges.get(`${namespace}/${name}`) ?? [])
      if (readStatus('Purge', this.#options.cache.get(purge)?.status).phase === 'Pending') this.#queue.add(purge);
  }

  removed({ metadata: { uid } }: ResourceObject): void {
    this.#writer.forget(uid);
    const { project = '' } = this.#seen.get(uid) ?? {};
    const purges = this.#purges.get(project);
    purges?.delete(uid);
    if (purges?.size === 0) this.#purges.delete(project);
    this.#seen.delete(uid);
    this.#goneAt.delete(uid);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  get #nowMs(): number {
    return (this.#options.clock ?? Date.now)();
  }

  async #reconcile(uid: string): Promise<ReconcileResult | undefined> {
    const { cache, acceptedOf } = this.#options;
    const seen = cache.get(uid);
    if (seen === undefined) return undefined;
    const purge = this.#writer.newest(seen);
    if (endedOperation(purge) !== undefined) return undefined;
    const plan = planPurge(purge, cache, acceptedOf);
    if (plan.kind === 'refused') return this.#report(purge, refused(plan.finding));
    if (plan.kind === 'waiting') {
      const leftMs = plan.untilMs - this.#nowMs;
      if (leftMs <= 0) {
        const message = `${plan.finding.message} This Purge waited for a day: create another one.`;
        return this.#report(purge, refused({ ...plan.finding, message }));
      }
      return (await this.#report(purge, pending(plan.finding))) ?? { requeueAfterMs: leftMs };
    }
    return this.#purge(purge, plan.filter, plan.project);
  }

  async #purge(purge: ResourceObject, filter: PurgeFilter, project: ResourceObject): Promise<ReconcileResult> {
    const { store, prepareStore, undelivered } = this.#options;
    if (store === undefined) {
      const finding = fails('NoLogStore', NO_LOG_STORE);
      return (await this.#report(purge, pending(finding))) ?? AFTER_ERROR;
    }
    const report = async (facts: PurgeFacts, next: ReconcileResult): Promise<ReconcileResult> =>
      (await this.#report(purge, { ...facts, beforeUs: filter.untilUs })) ?? next;
    const before = (this.#seen.get(purge.metadata.uid)?.at ?? Infinity) + BEFORE_MS_MAX;
    const { projectUid, namespace } = filter;
    const late = undelivered({ projectUid, namespace, before });
    if (late.length > 0) return report(waiting(late), LATER);
    try {
      await prepareStore();
      const facts = await this.#step(purge, filter, store.purges);
      const next = await report(facts, facts.phase === 'Running' ? this.#readSoon(purge.metadata.uid) : LATER);
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

  #readSoon(uid: string): ReconcileResult {
    const seen = this.#seen.get(uid);
    if (seen === undefined) return LATER;
    seen.reads += 1;
    return { requeueAfterMs: Math.min(FIRST_MS * 2 ** (seen.reads - 1), LATER.requeueAfterMs) };
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
    if (step !== 'done') return running(this.#progressOf(step, `Deleting ${requests(matched)}.`));
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
    if (results !== 'done') return running(this.#progressOf(results, 'Deleting the results of replays.'));
    return completed(matched);
  }

  #progressOf(step: 'running' | 'failing', message: string): string {
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
  async #report(purge: ResourceObject, facts: PurgeFacts): Promise<ReconcileResult | undefined> {
    const status = statusOf(facts, contextOf(purge, new Date(this.#nowMs)));
    const written = await this.#writer.write(purge, status);
    if (written === 'written' && facts.phase === 'Refused') {
      const { reason, message } = facts.accepted;
      await this.#options.events.record(purge, { type: 'Warning', reason, message });
    }
    return written === 'outdated' ? LATER : undefined;
  }
}
