import { periodAt } from '@standin/contract';
import type { Logger } from 'pino';
import type { Controller } from '../controller.ts';
import type { CachedObjects } from '../object-cache.ts';
import { logUnreadable, type LedgerStore } from './ledger-store.ts';

export interface OrphanedLedgersOptions {
  readonly store: Pick<LedgerStore, 'list' | 'remove'>;
  readonly cache: Pick<CachedObjects, 'get'>;
  readonly logger: Logger;
}

/**
 * At the start of a term, removes the ledgers of accounts that no longer exist. Keeps ledgers of the current month: an account may
 * be missing only because its namespace is not watched, and its usage must not restart at 0 when the account is reported in that
 * month.
 */
export class OrphanedLedgers implements Controller {
  readonly name = 'orphaned-ledgers';
  readonly #options: OrphanedLedgersOptions;
  readonly #stopping = new AbortController();

  constructor(options: OrphanedLedgersOptions) {
    this.#options = options;
  }

  start(): void {
    const logger = this.#options.logger.child({ stage: 'quota' });
    this.#remove(logger).catch((error: unknown) => {
      logger.warn({ err: error }, 'cannot remove ledgers of deleted accounts');
    });
  }

  /** Does not wait for the removal, because a hanging call must not delay the end of the term. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return Promise.resolve();
  }

  async #remove(logger: Logger): Promise<void> {
    const { store, cache } = this.#options;
    const period = periodAt(Date.now());
    for (const [accountUid, { ledger, version }] of await store.list(logUnreadable(logger, cache))) {
      if (this.#stopping.signal.aborted) return;
      if (ledger.period < period && cache.get(accountUid) === undefined) await store.remove(accountUid, version);
    }
  }
}
