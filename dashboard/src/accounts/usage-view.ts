import type { DayUsage, EndpointUsage, Usage } from '@standin/logstore';

/** An account's month, as the page shows it. Days are days in UTC. */
export interface UsageView {
  /** `2026-11` */
  readonly month: string;
  /** Every day of the month. Future days have no requests. Empty while the log is unavailable. */
  readonly days: readonly DayUsage[];
  /** Requests of the month in the log. */
  readonly total: number;
  /** Requests that count against the quota: the operator's count or, if there is none, those in the log. */
  readonly used: number;
  /** `used` is the operator's count, which does not lose expired requests. */
  readonly isExact: boolean;
  /** Accepted requests per month. Undefined: no limit. */
  readonly quota: number | undefined;
  /** The first day of the next month. */
  readonly resetsOn: string;
  /** The day on which the quota is used up at the current rate. Undefined: not in this month. */
  readonly usedUpOn: string | undefined;
  readonly endpoints: readonly EndpointUsage[];
  /** Requests of endpoints that are not listed. */
  readonly otherRequests: number;
  /** Why the log could not be read. Undefined: it was read. */
  readonly logFailure: string | undefined;
}

/** Replaces the counts from the log if it could not be read. */
export interface LogFailure {
  readonly logFailure: string;
}

const DAY_MS = 24 * 3_600_000;

/** The calendar month (UTC) of a time. */
export const monthOf = (now: Date): { readonly from: Date; readonly to: Date } => ({
  from: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)),
  to: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)),
});

const dayOf = (time: Date): string => time.toISOString().slice(0, 'yyyy-mm-dd'.length);

const sum = (counts: readonly { readonly requests: number }[]): number =>
  counts.reduce((total, { requests }) => total + requests, 0);

/** Extrapolates the mean of the month so far. */
const usedUpOn = (used: number, quota: number | undefined, now: Date): string | undefined => {
  const { from, to } = monthOf(now);
  if (quota === undefined || used === 0 || used >= quota) return undefined;
  const at = new Date(from.getTime() + ((now.getTime() - from.getTime()) * quota) / used);
  return at < to ? dayOf(at) : undefined;
};

/** The usage in the status of an account. */
export interface CountedUsage {
  readonly period?: string | undefined;
  readonly accepted?: number | undefined;
  readonly quota?: number | undefined;
}

const monthName = (now: Date): string => dayOf(now).slice(0, 'yyyy-mm'.length);

/** The operator's count for this month. Undefined: unknown. */
export const countedIn = (now: Date, { period, accepted }: CountedUsage): number | undefined =>
  period === monthName(now) ? accepted : undefined;

const everyDay = (usage: Usage, now: Date): DayUsage[] => {
  const { from, to } = monthOf(now);
  const byDay = new Map(usage.days.map(({ day, requests }) => [day, requests]));
  const days: DayUsage[] = [];
  for (let time = from.getTime(); time < to.getTime(); time += DAY_MS) {
    const day = dayOf(new Date(time));
    days.push({ day, requests: byDay.get(day) ?? 0 });
  }
  return days;
};

export const toUsageView = (found: Usage | LogFailure, counted: CountedUsage, now: Date): UsageView => {
  const { quota } = counted;
  const logFailure = 'logFailure' in found ? found.logFailure : undefined;
  const days = 'logFailure' in found ? [] : everyDay(found, now);
  const endpoints = 'logFailure' in found ? [] : found.endpoints;
  const total = sum(days);
  const exact = countedIn(now, counted);
  const used = exact ?? total;
  return {
    ...{ month: monthName(now), days, total, used, isExact: exact !== undefined, quota },
    resetsOn: dayOf(monthOf(now).to),
    usedUpOn: usedUpOn(used, quota, now),
    ...{ endpoints, otherRequests: Math.max(0, total - sum(endpoints)), logFailure },
  };
};
