import type { ConfigKey, ResourceObject, ResourceSource } from '@standin/contract';
import { configKey, periodEndMs, periodOf } from '@standin/contract';
import { WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { OperatorMetrics } from '../admin/metrics.ts';
import type { ProgrammedState } from '../publish/gateway-registry.ts';
import type { Audited } from '../quota/quota-audit.ts';
import { quotaFinding, type QuotaUsage } from '../quota/usage.ts';
import type { Changes, KnownKey, Translator } from '../translate/index.ts';
import { EndpointCounts } from './endpoint-counts.ts';
import { statusFields } from './status-fields.ts';
import { conditionsIn, isReady, StatusWriter, type StatusWritten } from './status-writer.ts';

export interface StatusKeeperOptions {
  readonly source: ResourceSource;
  readonly objects: ReadonlyMap<string, ResourceObject>;
  readonly translator: Translator;
  readonly key: (accountUid: string) => KnownKey | undefined;
  readonly usage: (accountUid: string) => QuotaUsage | undefined;
  /** What the audit of quotas says; undefined: nobody has looked in this term. */
  readonly audited: (accountUid: string) => Audited | undefined;
  /** Undefined when nothing of the object is sent to gateways. */
  readonly programmed: (key: ConfigKey) => ProgrammedState | undefined;
  readonly metrics: OperatorMetrics;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly onStatus: ((written: StatusWritten) => void) | undefined;
  readonly clock?: () => Date;
}

/** Gateways usually acknowledge sooner, and then one write says all. */
const ACK_WAIT_MS = 100;
/** Whom an object still waits for is said anew after this time, for all objects together. */
const STRAGGLERS_MS = 2_000;
/** Counts in a Project's status follow its endpoints after this time, together. */
const COUNT_DELAY_MS = 500;
/** A status that somebody else changed is mended after this time: two who do not agree must not do so in a busy loop. */
const MEND_DELAY_MS = 1_000;
/** How much was accepted changes all the time; what follows from it, such as a quota that is used up, is said at once. */
const USAGE_DELAY_MS = 10_000;
/** An account without traffic is looked at when the month ends; this much sooner or later when the clock was set meanwhile. */
const MONTH_CHECK_MS_MAX = 3_600_000;
const WORKERS = 16;
/** The client has its own quick retries; what still fails waits for a right to be granted, or the API server. */
const BACKOFF = { baseMs: 100, capMs: 30_000 };

interface Waiting {
  /** Of the revision that put the object last. */
  readonly number: number;
  readonly at: number;
}

/** Decides when which status is looked at, for one leader's term; `StatusWriter` does the rest. Objects are named by their uids. */
export class StatusKeeper {
  readonly #options: StatusKeeperOptions;
  readonly #queue: WorkQueue;
  readonly #writer: StatusWriter;
  readonly #counts = new EndpointCounts();
  /** Objects that gateways have still to acknowledge, in the order of their revisions. */
  readonly #waiting = new Map<string, Waiting>();
  /** Accounts, and what was said of their quota last. */
  readonly #quotas = new Map<string, string>();
  #stragglers: NodeJS.Timeout | undefined;

  constructor(options: StatusKeeperOptions) {
    this.#options = options;
    const {
      source,
      objects,
      translator,
      key,
      usage,
      audited,
      programmed,
      registry,
      clock = () => new Date(),
    } = options;
    const logger = options.logger.child({ stage: 'status' });
    this.#writer = new StatusWriter({
      ...{ source, logger, clock },
      inputs: {
        object: (uid) => objects.get(uid),
        verdict: (uid) => translator.verdict(uid),
        programmed,
        fields: statusFields({ translator, counts: this.#counts, key, usage }),
        usage,
        audited,
      },
    });
    this.#queue = new WorkQueue({
      name: 'status',
      concurrency: WORKERS,
      backoff: BACKOFF,
      registry,
      logger,
      reconcile: async (uid) => {
        // Before the write: if the month ends within it, it is looked at again.
        const requeueAfterMs = untilMonthCheckMs(clock().getTime());
        const written = await this.#write(uid);
        const hasQuota = written?.conditions.some(({ type }) => type === 'QuotaAvailable') ?? false;
        return hasQuota ? { requeueAfterMs } : undefined;
      },
    });
  }

  /** Looks at everything. Counts begin with what the statuses say, so that a restart rewrites none. */
  begin(): void {
    const { objects, translator } = this.#options;
    for (const [uid, { kind, status }] of objects) {
      if (kind !== 'Endpoint') continue;
      this.#counts.set(uid, { project: translator.projectOf(uid), ready: conditionsIn(status).some(isReady) });
    }
    for (const uid of objects.keys()) this.#queue.add(uid);
  }

  /** Revision `number` was published with these objects; undefined: nothing that gateways get has changed. */
  changed({ put, verdicts }: Pick<Changes, 'put' | 'verdicts'>, number: number | undefined): void {
    const sent = new Set<ConfigKey>();
    for (const object of put) {
      sent.add(configKey(object));
      if (number !== undefined) this.#wait(object.uid, number);
      this.#queue.addAfter(object.uid, ACK_WAIT_MS);
    }
    for (const { uid, configKey: key } of verdicts) {
      if (key === undefined || !sent.has(key)) this.#queue.add(uid);
    }
  }

  /**
   * Gateways acknowledged, or were forgotten.
   *
   * @param floor the revision that all known gateways hold; undefined: none is known
   * @param keys of objects that are newly rejected, or not any more
   */
  progress(floor: number | undefined, keys: readonly ConfigKey[]): void {
    const now = performance.now();
    let observed = 0;
    for (const [uid, { number, at }] of this.#waiting) {
      if (floor === undefined || number > floor) break;
      this.#waiting.delete(uid);
      this.#queue.add(uid);
      if (number !== observed) this.#options.metrics.programmedSeconds.observe((now - at) / 1_000);
      observed = number;
    }
    for (const key of keys) this.#queue.add(uidOf(key));
    if (this.#waiting.size > 0) this.#stragglers ??= setTimeout(() => this.#sayStragglers(), STRAGGLERS_MS);
  }

  /** More of an account's quota was used, or something came back. */
  usageChanged(uid: string): void {
    const usage = this.#options.usage(uid);
    if (usage === undefined) return;
    const said = `${usage.period} ${quotaFinding(usage).reason}`;
    if (this.#quotas.get(uid) === said) this.#queue.addAfter(uid, USAGE_DELAY_MS);
    else this.#queue.add(uid);
    this.#quotas.set(uid, said);
  }

  /** What the audit says of an account's quota has changed. */
  auditChanged(uid: string): void {
    this.#queue.add(uid);
  }

  /** The source shows an object, changed or not. */
  seen(object: ResourceObject): void {
    if (!this.#writer.isEcho(object)) this.#queue.addAfter(object.metadata.uid, MEND_DELAY_MS);
  }

  forget({ metadata: { uid } }: ResourceObject): void {
    this.#writer.forget(uid);
    this.#waiting.delete(uid);
    this.#quotas.delete(uid);
    this.#recount(this.#counts.delete(uid));
  }

  /** Resolves when no write is under way any more. */
  stop(): Promise<void> {
    clearTimeout(this.#stragglers);
    return this.#queue.stop();
  }

  #sayStragglers(): void {
    this.#stragglers = undefined;
    for (const uid of this.#waiting.keys()) this.#queue.add(uid);
  }

  #wait(uid: string, number: number): void {
    // Deleted first, so that the map stays in the order of the revisions.
    this.#waiting.delete(uid);
    this.#waiting.set(uid, { number, at: performance.now() });
  }

  #recount(projects: readonly string[]): void {
    for (const project of projects) this.#queue.addAfter(project, COUNT_DELAY_MS);
  }

  async #write(uid: string): Promise<StatusWritten | undefined> {
    const { translator, metrics, onStatus, logger } = this.#options;
    const written = await this.#writer.write(uid);
    if (written === undefined) return undefined;
    if (written.wrote) metrics.statusWrites.inc();
    if (written.ref.kind === 'Endpoint' && this.#options.objects.has(uid)) {
      this.#recount(this.#counts.set(uid, { project: translator.projectOf(uid), ready: written.ready }));
    }
    try {
      onStatus?.(written);
    } catch (error) {
      logger.error({ err: error }, 'a listener of statuses threw');
    }
    return written;
  }
}

const untilMonthCheckMs = (now: number): number =>
  Math.min(MONTH_CHECK_MS_MAX, Math.max(1, periodEndMs(periodOf(now)) - now));

const uidOf = (key: ConfigKey): string => key.slice(key.indexOf('/') + 1);
