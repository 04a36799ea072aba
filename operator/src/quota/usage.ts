import { z } from 'zod';
import { inPeriod, type Ledger } from './ledger.ts';
import { fails, holds } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';

/** How much of an account's quota is used. */
export interface QuotaUsage {
  readonly period: string;
  /** Requests, as far as gateways have said so far. */
  readonly accepted: number;
  /** Permits that are used, or that gateways may use: what is accepted is no more. */
  readonly granted: number;
  readonly quota: number;
  /** A gateway was refused permits under this quota, in this period; undefined: none has asked in this term. */
  readonly isExhausted: boolean | undefined;
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

const optionalText = z.string().optional().catch(undefined);
const optionalNumber = z.number().optional().catch(undefined);
const statusSchema = z
  .looseObject({
    usage: z
      .looseObject({ period: optionalText, accepted: optionalNumber, quota: optionalNumber })
      .default({})
      .catch({}),
    conditions: z
      .array(z.looseObject({ type: optionalText, reason: optionalText }))
      .default([])
      .catch([]),
  })
  .catch({ usage: {}, conditions: [] });

/**
 * What people are shown: gateways report anew to a new leader, one after the other, and what the status said meanwhile still holds.
 *
 * @param usage undefined: nobody has asked in this term
 * @param status of the Account, as it is now
 * @returns undefined: what the status says stands
 */
export const shownUsage = (
  usage: QuotaUsage | undefined,
  status: unknown,
  { quota, period }: Pick<QuotaUsage, 'quota' | 'period'>,
): QuotaUsage | undefined => {
  const { usage: before, conditions } = statusSchema.parse(status ?? {});
  if (usage === undefined) {
    const isOver = before.period !== undefined && before.period < period;
    return isOver ? { period, accepted: 0, granted: 0, quota, isExhausted: false } : undefined;
  }
  if (before.period !== usage.period) return usage;
  const wasUsedUp = conditions.some(({ type, reason }) => type === 'QuotaAvailable' && reason === 'QuotaUsedUp');
  return {
    ...usage,
    accepted: Math.max(usage.accepted, Math.min(before.accepted ?? 0, usage.granted)),
    isExhausted: usage.isExhausted ?? (wasUsedUp && before.quota === usage.quota),
  };
};

/** The condition `QuotaAvailable`. */
export const quotaFinding = ({
  period,
  accepted,
  quota,
  isExhausted = false,
}: Omit<QuotaUsage, 'granted'>): Finding => {
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
