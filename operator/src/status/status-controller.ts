import {
  configKey,
  periodEndMs,
  periodAt,
  type ConfigKey,
  type ConfigObject,
  type Events,
  type Objects,
  type ResourceObject,
} from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import type { WorkQueue } from '@standin/kube';
import type { LogOwner } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { OperatorMetrics } from '../metrics.ts';
import type { Controller } from '../controller.ts';
import type { GatewayController } from '../gateways/gateway-controller.ts';
import type { CachedObjects } from '../object-cache.ts';
import type { Audited } from '../quota/quota-audit.ts';
import { quotaFinding, type QuotaUsage } from '../quota/usage.ts';
import { objectQueue } from '../reconciler.ts';
import type { Changes, KnownKey, Translator } from '../translate/index.ts';
import { isReady } from './conditions.ts';
import { ServedStatus, type StatusWritten } from './served-status.ts';
import { ReadyCounts, statusFields } from './status-fields.ts';

export interface StatusControllerOptions {
  readonly objects: Pick<Objects, 'writeStatus'>;
  readonly events: Events;
  readonly cache: CachedObjects;
  readonly translator: Translator;
  readonly key: (accountUid: string) => KnownKey | undefined;
  readonly usage: (accountUid: string) => QuotaUsage | undefined;
  /** Returns the audit's result for an account's quota, or undefined if no audit has run in this term. */
  readonly audited: (accountUid: string) => Audited | undefined;
  readonly lastRequestAt: (project: LogOwner) => string | undefined;
  readonly gateways: Pick<GatewayController, 'programmed' | 'withdrawn' | 'floor'>;
  /** Returns the number of the revision that last put an object, or undefined if it is not published. */
  readonly since: (key: ConfigKey) => number | undefined;
  readonly metrics: OperatorMetrics;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly onStatus: ((written: StatusWritten) => void) | undefined;
  readonly clock?: () => Date;
}

/**
 * The first status is written this long after a publication. Gateways usually acknowledge within this time, so one write is
 * enough.
 */
const ACK_WAIT_MS = 100;
/** The lists of pending gateways in conditions are refreshed at this interval, for all objects together. */
const WAITING_REFRESH_MS = 2_000;
/**
 * Maximum number of objects that are refreshed together. The others follow at the same interval. While a gateway is lost, a tenant can
 * have tens of thousands that wait, and each takes 50 µs.
 */
const WAITING_REFRESHED_MAX = 2_000;
/** The counts in a parent's status are updated together, this long after its projects or endpoints change. */
const COUNT_DELAY_MS = 500;
/**
 * A status that another client changed is restored after this time, so that two clients that disagree do not form a busy loop.
 */
const RESTORE_DELAY_MS = 1_000;
/**
 * The number of accepted requests can change constantly, so the next one is written this long after the last. Consequences, such as an
 * exhausted quota, are written immediately.
 */
const USAGE_INTERVAL_MS = 10_000;
/** An account without traffic is checked when the month ends. A change of the clock delays this check by at most this time. */
const MONTH_CHECK_MS_MAX = 3_600_000;
const WORKERS = 31;
/** The client has its own quick retries. Remaining errors last until a permission is granted, or the API server is available. */
const BACKOFF = { baseMs: 100, capMs: 30_000 };

interface ScheduledUsage {
  /** The period and the condition's reason. */
  readonly state: string;
  /** When the usage is or was written, in milliseconds of `performance.now()`. */
  readonly at: number;
}

interface Waiting {
  /** Number of the revision that last put the object. */
  readonly number: number;
  readonly at: number;
}

/** Decides when each status is checked, for one leader's term. `ServedStatus` writes the status. Objects are identified by uid. */
export class StatusController implements Controller {
  readonly name = 'status';
  readonly #options: StatusControllerOptions;
  readonly #queue: WorkQueue;
  readonly #writer: ServedStatus;
  readonly #counts = new ReadyCounts();
  /** Objects that gateways have not acknowledged yet, by uid, ordered by revision. */
  readonly #waiting = new Map<string, Waiting>();
  /** The usages at the last calls of `usageChanged`, by the Account's uid. */
  readonly #usages = new Map<string, ScheduledUsage>();
  #refreshTimer: NodeJS.Timeout | undefined;
  /** The rest of the objects that are refreshed. Includes those that begin to wait in the meantime. */
  #toRefresh: MapIterator<string> | undefined;
  /** Whether gateways have changed since the first of these objects was refreshed. */
  #isRefreshOutdated = false;

  constructor(options: StatusControllerOptions) {
    this.#options = options;
    const { objects, events, cache, translator, key, usage, audited, lastRequestAt, gateways } = options;
    const { clock = () => new Date() } = options;
    const logger = options.logger.child({ stage: 'status' });
    this.#writer = new ServedStatus({
      objects,
      events,
      logger,
      clock,
      inputs: {
        object: (uid) => cache.get(uid),
        verdict: (uid) => translator.verdict(uid),
        programmed: (key) => gateways.programmed(key),
        withdrawn: (key) => gateways.withdrawn(key),
        fields: statusFields({ translator, counts: this.#counts, key, usage, lastRequestAt }),
        usage,
        audited,
      },
    });
    this.#queue = objectQueue(options, {
      name: this.name,
      stage: 'status',
      concurrency: WORKERS,
      backoff: BACKOFF,
      reconcile: async (uid) => {
        // The delay is computed before the write, so that the account is checked again if the month ends during the write.
        const monthCheckMs = untilMonthCheckMs(clock().getTime());
        const written = await this.#write(uid);
        const hasQuota = written?.conditions.some(({ type }) => type === 'QuotaAvailable') ?? false;
        const requeueAfterMs = Math.min(hasQuota ? monthCheckMs : Infinity, written?.recheckAfterMs ?? Infinity);
        return requeueAfterMs === Infinity ? undefined : { requeueAfterMs };
      },
    });
  }

  /** Initializes the counts with the values in the statuses, so that a restart does not rewrite them. */
  start(): void {
    const { cache, translator } = this.#options;
    for (const object of translator.objects()) if (object.kind !== 'Authority') this.#wait(object);
    for (const kind of ['Project', 'Endpoint'] as const)
      for (const { metadata, status } of cache.ofKind(kind)) {
        const { uid } = metadata;
        this.#counts.set(uid, { parent: translator.parentUid(uid), ready: conditionsIn(status).some(isReady) });
      }
    for (const { metadata } of cache.values()) this.#queue.add(metadata.uid);
  }

  translated({ put, verdicts }: Pick<Changes, 'put' | 'verdicts'>): void {
    const sent = new Set<ConfigKey>();
    for (const object of put) {
      if (object.kind === 'Authority') continue;
      sent.add(configKey(object));
      this.#wait(object);
      this.#queue.addAfter(object.uid, ACK_WAIT_MS);
    }
    for (const { uid, configKey: key } of verdicts) {
      if (key === undefined || !sent.has(key)) this.#queue.add(uid);
    }
  }

  gatewaysChanged(keys: readonly ConfigKey[]): void {
    const { floor } = this.#options.gateways;
    const now = performance.now();
    let observed = 0;
    for (const [uid, { number, at }] of this.#waiting) {
      if (floor === undefined || number > floor) break;
      this.#waiting.delete(uid);
      this.#queue.add(uid);
      if (number !== observed) this.#options.metrics.programmedSeconds.observe((now - at) / 1_000);
      observed = number;
    }
    for (const key of keys) this.#queue.add(keyUid(key));
    if (this.#waiting.size === 0) return;
    this.#isRefreshOutdated = true;
    this.#refreshLater();
  }

  /** Called when the usage of an account's quota may have changed. */
  usageChanged(uid: string): void {
    const usage = this.#options.usage(uid);
    if (usage === undefined) return;
    const state = `${usage.period} ${quotaFinding(usage).reason}`;
    const now = performance.now();
    const last = this.#usages.get(uid);
    const nextAt = last?.state !== state ? now : last.at > now ? last.at : Math.max(now, last.at + USAGE_INTERVAL_MS);
    this.#queue.addAfter(uid, nextAt - now);
    this.#usages.set(uid, { state, at: nextAt });
  }

  /** Schedules a check of the object. */
  enqueue(uid: string): void {
    this.#queue.add(uid);
  }

  changed(object: ResourceObject): void {
    if (!this.#writer.isEcho(object)) this.#queue.addAfter(object.metadata.uid, RESTORE_DELAY_MS);
  }

  removed({ metadata: { uid } }: ResourceObject): void {
    this.#writer.forget(uid);
    this.#waiting.delete(uid);
    this.#usages.delete(uid);
    this.#recount(this.#counts.delete(uid));
  }

  /** Stops checking statuses. Resolves when no write is in progress. */
  stop(): Promise<void> {
    clearTimeout(this.#refreshTimer);
    return this.#queue.stop();
  }

  #refreshLater(): void {
    this.#refreshTimer ??= setTimeout(() => this.#refresh(), WAITING_REFRESH_MS);
  }

  #refresh(): void {
    this.#refreshTimer = undefined;
    if (this.#toRefresh === undefined) this.#isRefreshOutdated = false;
    this.#toRefresh ??= this.#waiting.keys();
    for (let count = 0; count < WAITING_REFRESHED_MAX; count += 1) {
      const { done, value } = this.#toRefresh.next();
      if (done === true) {
        this.#toRefresh = undefined;
        if (this.#isRefreshOutdated) this.#refreshLater();
        return;
      }
      this.#queue.add(value);
    }
    this.#refreshLater();
  }

  /** Records that gateways have not acknowledged the newly published object yet. */
  #wait(object: ConfigObject): void {
    const number = this.#options.since(configKey(object));
    if (number === undefined) return;
    const { uid } = object;
    // The entry is deleted first, so that the map stays ordered by revision.
    this.#waiting.delete(uid);
    this.#waiting.set(uid, { number, at: performance.now() });
  }

  #recount(parents: readonly string[]): void {
    for (const parent of parents) this.#queue.addAfter(parent, COUNT_DELAY_MS);
  }

  async #write(uid: string): Promise<StatusWritten | undefined> {
    const { translator, metrics, onStatus, logger } = this.#options;
    const written = await this.#writer.write(uid);
    if (written === undefined) return undefined;
    if (written.wrote) metrics.statusWrites.inc();
    if (written.ref.kind !== 'Account' && this.#options.cache.has(uid)) {
      this.#recount(this.#counts.set(uid, { parent: translator.parentUid(uid), ready: written.ready }));
    }
    try {
      onStatus?.(written);
    } catch (error) {
      logger.error({ err: error }, 'status listener failed');
    }
    return written;
  }
}

const untilMonthCheckMs = (now: number): number =>
  Math.min(MONTH_CHECK_MS_MAX, Math.max(1, periodEndMs(periodAt(now)) - now));

const keyUid = (key: ConfigKey): string => key.slice(key.indexOf('/') + 1);
