import type { AccountConfig } from '@standin/contract';
import type { Permit } from '../request/accepted.ts';
import type { Refusal } from '../request/refusal.ts';

/** The permit of an account without a quota. */
export const NO_QUOTA: Permit = { period: '', block: '', number: 0 };

/** Decides whether an account may send another request this month. */
export interface QuotaGate {
  /**
   * Spends one permit of the account, or refuses. Called once the request is complete. Returns a promise only if no permit is
   * available.
   */
  admit(account: AccountConfig): Permit | Refusal | Promise<Permit | Refusal>;
  /** The request was recorded, so its permit is used. */
  use(account: AccountConfig, permit: Permit): void;
  /** Gives a permit back: the request was not recorded, so it was not accepted. */
  giveBack(account: AccountConfig, permit: Permit): void;
}
