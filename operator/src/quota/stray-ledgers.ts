import type { Logger } from 'pino';
import { unreadableIsLogged, type LedgerStore } from './ledger-store.ts';

export interface StrayLedgersOptions {
  readonly store: LedgerStore;
  readonly isAccount: (accountUid: string) => boolean;
  /** The current month. */
  readonly period: string;
  readonly logger: Logger;
  /** Aborts when the term ends. */
  readonly signal: AbortSignal;
}

/**
 * Removes ledgers of accounts that were deleted while no operator led. Removes only those of earlier months, which are no longer
 * needed. An account may only be invisible because its namespace is not watched: its current month must not start again when it
 * becomes visible.
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
