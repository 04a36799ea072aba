import type { AccountConfig } from '@standin/contract';
import type { Permit } from '../request/accepted.ts';
import type { Refusal } from '../request/refusal.ts';

/** Of an account that may have as many as it likes. */
export const NO_QUOTA: Permit = { period: '', block: '', number: 0 };

/** Decides whether an account may have one more request this month. */
export interface QuotaGate {
  /** Spends one permit of the account, or refuses. Called once the request is there whole. Only where none is at hand it takes time. */
  admit(account: AccountConfig): Permit | Refusal | Promise<Permit | Refusal>;
  /** Gives a permit back: the request could not be recorded, so it was not accepted. */
  giveBack(account: AccountConfig, permit: Permit): void;
}
