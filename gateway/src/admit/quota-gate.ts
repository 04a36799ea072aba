import type { AccountConfig } from '@standin/contract';
import type { Permit } from '../request/accepted.ts';
import type { Refusal } from '../request/refusal.ts';

/** The permit for an account without a quota. */
export const NO_QUOTA: Permit = { period: '', block: '', number: 0 };

/** Decides whether an account may send another request this month. */
export interface QuotaGate {
  /**
   * Spends one of the account's permits, or refuses the request. Called when the request is complete. Returns a promise only if the
   * decision depends on the operator.
   */
  admit(account: AccountConfig): Permit | Refusal | Promise<Permit | Refusal>;
  /** Marks the permit as used because the request was recorded. */
  use(account: AccountConfig, permit: Permit): void;
  /** Gives the permit back because the request was not recorded, and therefore not accepted. */
  giveBack(account: AccountConfig, permit: Permit): void;
}
