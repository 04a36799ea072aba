import type { AccountConfig } from '@standin/contract';
import type { Refusal } from '../respond/refusal.ts';

/** Decides whether an account may have one more request this month. */
export interface QuotaGate {
  /** Spends one permit of the account, or refuses. Called once the request is there whole. */
  admit(account: AccountConfig): Refusal | undefined;
  /** Gives a permit back: the request could not be recorded, so it was not accepted. */
  giveBack(account: AccountConfig): void;
}

/** No quotas: every request is admitted. */
export const admitAll: QuotaGate = {
  admit: () => undefined,
  giveBack: () => undefined,
};
