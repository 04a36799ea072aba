import type { Logger } from 'pino';
import { unreadableIsLogged, type LedgerStore } from './ledger-store.ts';

export interface StrayLedgersOptions {
  readonly store: LedgerStore;
  readonly isAccount: (accountUid: string) => boolean;
  /** The present month. */
  readonly period: string;
  readonly logger: Logger;
  /** Aborted when the term ends. */
  readonly signal: AbortSignal;
}

/**
 * Removes ledgers of accounts that went while nobody led. Only those of earlier months, which nothing follows from any more: an account
 * that is not seen now, as its namespace is not watched, must not begin its month again when it is.
 */
export const removeStrayLedgers = async (options: StrayLedgersOptions): Promise<void> => {
  const { store, isAccount, period, logger, signal } = options;
  try {
    for (const [accountUid, ledger] of await store.list(unreadableIsLogged(logger))) {
      if (signal.aborted) return;
      if (ledger.period < period && !isAccount(accountUid)) await store.remove(accountUid);
    }
  } catch (error) {
    logger.warn({ err: error }, 'ledgers of accounts that are gone cannot be removed');
  }
};
