import { setTimeout as delay } from 'node:timers/promises';
import type { LogStore, SpentPermits } from '@standin/logstore';
import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import { holds } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';
import { committed } from './ledger.ts';
import { unreadableIsLogged, type LedgerStore } from './ledger-store.ts';

/** What the last look said of an account; without a finding: all is well. */
export interface Audited {
  /** The condition `QuotaMismatch`. */
  readonly mismatch?: Finding;
}

export interface QuotaAuditOptions {
  readonly store: LedgerStore;
  readonly logStore: Pick<LogStore, 'spentPermits'>;
  /** Of an account, for people; undefined: it is not there. */
  readonly nameOf: (accountUid: string) => string | undefined;
  /** What is said of an account has changed. */
  readonly onChange: (accountUid: string) => void;
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
  #audited: ReadonlyMap<string, Audited> = new Map();

  constructor(options: QuotaAuditOptions) {
    this.#options = options;
    const mismatches = (): number => [...this.#audited.values()].filter(({ mismatch }) => mismatch).length;
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
    this.#audited = new Map();
  }

  /** Undefined: nobody has looked in this term. */
  audited(accountUid: string): Audited | undefined {
    return this.#audited.get(accountUid);
  }

  /** Once. Rejects when ledgers or the log cannot be read. */
  async look(signal: AbortSignal): Promise<void> {
    const { store, logger, onChange } = this.#options;
    const audited = new Map<string, Audited>();
    for (const [accountUid, { period }] of await store.list(unreadableIsLogged(logger))) {
      const mismatch = await this.#mismatch(accountUid, period);
      if (signal.aborted) return;
      audited.set(accountUid, mismatch === undefined ? {} : { mismatch });
    }
    const before = this.#audited;
    this.#audited = audited;
    const said = (uid: string, looks: ReadonlyMap<string, Audited>) => looks.get(uid)?.mismatch?.message;
    for (const uid of audited.keys()) if (!before.has(uid) || said(uid, before) !== said(uid, audited)) onChange(uid);
  }

  async #mismatch(accountUid: string, period: string): Promise<Finding | undefined> {
    const { store, logStore, nameOf, logger } = this.#options;
    const { requests, permits } = await logStore.spentPermits(accountUid, period);
    // Read after the log: what is committed is never less than what was spent before.
    const ledger = (await store.read(accountUid))?.ledger;
    if (ledger?.period !== period) return undefined;
    const granted = committed(ledger);
    if (requests <= granted && permits === requests) return undefined;
    logger.error(
      { account: nameOf(accountUid), accountUid, period, requests, permits, granted },
      'QuotaMismatch: the log has more requests than permits were granted, or two with one permit',
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
    `The log has ${requests} requests of ${period} with ${permits} permits, and ${granted} permits were granted: somebody changed the quota's ledger, or Standin has a defect.`,
  );
