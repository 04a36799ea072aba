import { setTimeout as delay } from 'node:timers/promises';
import type { LogStore, SpentPermits } from '@standin/logstore';
import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import { aboutObject } from '../about-object.ts';
import type { Controller } from '../controller.ts';
import type { CachedObjects } from '../object-cache.ts';
import { holds } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';
import { forEachLedger } from './for-each-ledger.ts';
import { committed } from './ledger.ts';
import { logUnreadable, type LedgerStore } from './ledger-store.ts';

/** The result of an account's last audit. Without `mismatch`, there is no problem. */
export interface Audited {
  /** The finding for the `QuotaMismatch` condition. */
  readonly mismatch?: Finding;
}

export interface QuotaAuditOptions {
  readonly store: LedgerStore;
  readonly logStore: Pick<LogStore, 'spentPermits'>;
  readonly cache: Pick<CachedObjects, 'get'>;
  /** Called when the result for an account has changed. */
  readonly onChange: (accountUid: string) => void;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly intervalMs?: number;
}

const HOUR_MS = 3_600_000;

/**
 * Compares the log with each account's ledger, for the ledger's month. There must never be more requests than granted permits, nor
 * two requests with one permit. Fewer requests are not a finding, because some are in flight and some have expired. A finding means
 * that the ledger was edited or Standin has a bug, so the audit only reports it. All terms share one instance, because its metric
 * can be registered only once.
 */
export class QuotaAudit implements Controller {
  readonly name = 'quota-audit';
  readonly #options: QuotaAuditOptions;
  #audited = new Map<string, Audited>();
  #stopping = new AbortController();

  constructor(options: QuotaAuditOptions) {
    this.#options = options;
    const mismatches = (): number => [...this.#audited.values()].filter(({ mismatch }) => mismatch).length;
    new Gauge({
      name: 'standin_quota_mismatches',
      help: 'Accounts whose log contains more requests than granted permits, or two requests with one permit',
      registers: [options.registry],
      collect() {
        this.set(mismatches());
      },
    });
  }

  start(): void {
    this.#stopping = new AbortController();
    void this.#repeat(this.#stopping.signal);
  }

  /** Does not wait for the audit, because a hanging call must not delay the end of the term. */
  stop(): Promise<void> {
    this.#stopping.abort();
    this.#audited.clear();
    return Promise.resolve();
  }

  /** Returns the result of the account's last audit, or undefined if none has ended in this term. */
  audited(accountUid: string): Audited | undefined {
    return this.#audited.get(accountUid);
  }

  /** Runs one audit. Rejects if ledgers or the log cannot be read. The results of these accounts then stay the same. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, cache, logger, onChange } = this.#options;
    const ledgers = await store.list(logUnreadable(logger, cache));
    signal.throwIfAborted();
    const listed = new Set(ledgers.map(([accountUid]) => accountUid));
    for (const accountUid of this.#audited.keys()) if (!listed.has(accountUid)) this.#audited.delete(accountUid);
    await forEachLedger(ledgers, cache, async ([accountUid, { ledger }]) => {
      signal.throwIfAborted();
      const mismatch = await this.#mismatch(accountUid, ledger.period);
      signal.throwIfAborted();
      const before = this.#audited.get(accountUid);
      this.#audited.set(accountUid, mismatch === undefined ? {} : { mismatch });
      if (before === undefined || before.mismatch?.message !== mismatch?.message) onChange(accountUid);
    });
  }

  async #repeat(signal: AbortSignal): Promise<void> {
    const { intervalMs = HOUR_MS, logger } = this.#options;
    while (!signal.aborted) {
      await this.run(signal).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error }, 'cannot compare quotas with the log');
      });
      await delay(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #mismatch(accountUid: string, period: string): Promise<Finding | undefined> {
    const { store, logStore, cache, logger } = this.#options;
    const { requests, permits } = await logStore.spentPermits(accountUid, period);
    // The ledger must be read after the log, so that its committed permits include every permit that the log shows as spent.
    const ledger = (await store.read(accountUid))?.ledger;
    if (ledger?.period !== period) return undefined;
    const granted = committed(ledger);
    if (requests <= granted && permits === requests) return undefined;
    logger.error(
      { ...aboutObject(cache, accountUid), accountUid, period, requests, permits, granted },
      'QuotaMismatch: the log contains more requests than granted permits, or two requests with one permit',
    );
    return mismatchFinding({ requests, permits }, { period, granted });
  }
}

const mismatchFinding = (
  { requests, permits }: SpentPermits,
  { period, granted }: { readonly period: string; readonly granted: number },
): Finding =>
  holds(
    'QuotaMismatch',
    `The log contains ${requests} requests for ${period} with ${permits} permits, but ${granted} permits were granted. The quota ledger was edited, or Standin has a bug.`,
  );
