import { inPeriod, type Ledger } from './ledger.ts';
import { fails, holds } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';

/** How much of an account's quota is used. */
export interface QuotaUsage {
  readonly period: string;
  /** Requests, as far as gateways have said so far. */
  readonly accepted: number;
  readonly quota: number;
  /** A gateway was refused permits under this quota, in this period. */
  readonly isExhausted: boolean;
}

/** From here on people are told. */
const NEARLY = 0.8;

/**
 * What the ledger and the gateways' last reports say.
 *
 * @param spent of blocks, by their ids; one that nobody has reported counts as unused here, though nobody else gets its permits
 * @param period the present month
 */
export const acceptedOf = (ledger: Ledger, spent: ReadonlyMap<string, number>, period: string): number => {
  const { used, blocks } = inPeriod(ledger, period);
  return blocks.reduce((sum, { id, permits }) => sum + Math.min(spent.get(id) ?? 0, permits), used);
};

/** The condition `QuotaAvailable`. */
export const quotaFinding = ({ period, accepted, quota, isExhausted }: QuotaUsage): Finding => {
  const share = `${accepted} of ${quota} requests of ${period} are accepted`;
  if (accepted >= quota) return fails('QuotaUsedUp', `${share}: all others are refused until next month.`);
  if (isExhausted) {
    const message = `${share}, the others are held by gateways: by some that run, or by some that were killed.`;
    return fails('QuotaUsedUp', message);
  }
  return accepted >= quota * NEARLY
    ? holds('QuotaNearlyUsedUp', `${share}.`)
    : holds('QuotaAvailable', `Less than ${NEARLY * 100} % of the quota are used.`);
};
