import { setTimeout as delay } from 'node:timers/promises';
import type { LogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import { committed } from './ledger.ts';
import type { LedgerStore } from './ledger-store.ts';
import { unreadableIsLogged } from './stray-ledgers.ts';

export interface QuotaAuditOptions {
  readonly store: LedgerStore;
  readonly logStore: Pick<LogStore, 'spentPermits'>;
  /** Of an account, for people; undefined: it is not there. */
  readonly nameOf: (accountUid: string) => string | undefined;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly intervalMs?: number;
}

const HOUR_MS = 3_600_000;

/**
 * Holds what the log has of each quota's month against its ledger: never more requests than permits were granted, and never two of one permit.
 * Fewer is no finding: some are on their way, and some have expired. What it finds is a mistake of ours, so it only tells.
 */
export class QuotaAudit {
  readonly #options: QuotaAuditOptions;
  #mismatches = 0;

  constructor(options: QuotaAuditOptions) {
    this.#options = options;
    const mismatches = (): number => this.#mismatches;
    new Gauge({
      name: 'standin_quota_mismatches',
      help: 'Accounts of which the log has more requests than their quota’s ledger granted, or two with one permit.',
      registers: [options.registry],
      collect() {
        this.set(mismatches());
      },
    });
  }

  /** For as long as this operator leads. */
  async run(signal: AbortSignal): Promise<void> {
    const { intervalMs = HOUR_MS, logger } = this.#options;
    while (!signal.aborted) {
      await this.look(signal).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error }, 'quotas cannot be compared with the log now');
      });
      await delay(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    this.#mismatches = 0;
  }

  /** Once. Rejects when ledgers or the log cannot be read. */
  async look(signal: AbortSignal): Promise<void> {
    const { store, logger } = this.#options;
    let mismatches = 0;
    for (const [accountUid, { period }] of await store.list(unreadableIsLogged(logger))) {
      if (signal.aborted) return;
      if (await this.#isMismatch(accountUid, period)) mismatches++;
    }
    this.#mismatches = mismatches;
  }

  async #isMismatch(accountUid: string, period: string): Promise<boolean> {
    const { store, logStore, nameOf, logger } = this.#options;
    const { requests, permits } = await logStore.spentPermits(accountUid, period);
    // Read after the log: what is committed is never less than what was spent before.
    const ledger = (await store.read(accountUid))?.ledger;
    if (ledger?.period !== period) return false;
    const granted = committed(ledger);
    if (requests <= granted && permits === requests) return false;
    logger.error(
      { account: nameOf(accountUid), accountUid, period, requests, permits, granted },
      'QuotaMismatch: the log has more requests than permits were granted, or two with one permit',
    );
    return true;
  }
}
