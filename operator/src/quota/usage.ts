import { readStatus } from '@standin/crds';
import { inPeriod, type Ledger } from './ledger.ts';
import { fails, holds } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';

/** The usage of an account's quota. */
export interface QuotaUsage {
  readonly period: string;
  /** Accepted requests that gateways have reported so far. */
  readonly accepted: number;
  /** Permits that are used or that gateways may still use. This number is an upper bound for the accepted requests. */
  readonly granted: number;
  readonly quota: number;
  /**
   * Whether the last request for permits under this quota in this period was refused. Undefined if no gateway has requested permits
   * in this term.
   */
  readonly isExhausted: boolean | undefined;
}

/** The share of the quota at which users are warned. */
const NEARLY = 0.8;

/**
 * Returns the number of accepted requests, according to the ledger and the gateways' last reports.
 *
 * @param spent the spent permits by block id. A block without a report counts as unused here, although its permits are not granted
 * again.
 * @param period the current month
 */
export const acceptedRequests = (ledger: Ledger, spent: ReadonlyMap<string, number>, period: string): number => {
  const { used, blocks } = inPeriod(ledger, period);
  return blocks.reduce((sum, { id, permits }) => sum + Math.min(spent.get(id) ?? 0, permits), used);
};

/**
 * Returns the usage that users see. Gateways report to a new leader one after the other. So within a month, a higher count in the
 * earlier status remains, as long as that many permits are granted. A used-up quota remains used up until it changes or a gateway
 * gets permits.
 *
 * @param usage undefined if the account's ledger is not known to this leader
 * @param status the Account's current status
 * @returns undefined if the status remains unchanged
 */
export const shownUsage = (
  usage: QuotaUsage | undefined,
  status: unknown,
  { quota, period }: Pick<QuotaUsage, 'quota' | 'period'>,
): QuotaUsage | undefined => {
  const { usage: before = {}, conditions = [] } = readStatus('Account', status);
  if (usage === undefined) {
    const isOver = before.period !== undefined && before.period < period;
    // Gateways request no permits for a quota of 0, so such an account may have no ledger.
    if (!isOver && quota !== 0 && before.quota !== 0) return undefined;
    const accepted = isOver ? 0 : (before.accepted ?? 0);
    return { period, accepted, granted: accepted, quota, isExhausted: false };
  }
  if (before.period !== usage.period) return usage;
  const wasUsedUp = conditions.some(({ type, reason }) => type === 'QuotaAvailable' && reason === 'QuotaUsedUp');
  return {
    ...usage,
    accepted: Math.max(usage.accepted, Math.min(before.accepted ?? 0, usage.granted)),
    isExhausted: usage.isExhausted ?? (wasUsedUp && before.quota === usage.quota),
  };
};

/** Returns the finding for the `QuotaAvailable` condition. */
export const quotaFinding = ({
  period,
  accepted,
  quota,
  isExhausted = false,
}: Omit<QuotaUsage, 'granted'>): Finding => {
  if (quota === 0)
    return fails('QuotaUsedUp', 'The quota is 0, so all requests are rejected: raise spec.monthlyQuota.');
  const share = `Accepted ${accepted} of ${quota} requests in ${period}`;
  if (accepted >= quota)
    return fails(
      'QuotaUsedUp',
      `${share}. Further requests are rejected until next month, or until spec.monthlyQuota is raised.`,
    );
  if (isExhausted) {
    const message = `${share}. Gateways hold the rest in reserve, so some requests are rejected until next month, or until spec.monthlyQuota is raised.`;
    return fails('QuotaUsedUp', message);
  }
  return accepted >= quota * NEARLY
    ? holds('QuotaNearlyUsedUp', `${share}.`)
    : holds('QuotaAvailable', `Less than ${NEARLY * 100}% of the quota is used.`);
};
