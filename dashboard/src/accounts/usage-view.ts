import type { DayUsage, EndpointUsage, Usage } from '@standin/logstore';

/** An account's usage this month, as the page and the JSON API show it. All days are in UTC. */
export interface UsageView {
  /** Such as `2026-11`. */
  readonly month: string;
  /** All days of the month. Future days have no requests. Empty if the log is unavailable. */
  readonly days: readonly DayUsage[];
  /** Number of requests in the log this month. */
  readonly total: number;
  /** Number of requests that count against the quota. This is the operator's count or, if there is none, the number in the log. */
  readonly used: number;
  /** Whether `used` is the operator's count, which includes expired requests. */
  readonly isExact: boolean;
  /** Maximum number of accepted requests per month. Undefined if there is no limit. */
  readonly quota: number | undefined;
  /** First day of the next month. */
  readonly resetsOn: string;
  /**
   * Day on which the quota will be used up at the current rate. Undefined if that day is not in this month, or if the quota is used
   * up already.
   */
  readonly usedUpOn: string | undefined;
  readonly endpoints: readonly EndpointUsage[];
  /** Number of requests to endpoints that are not listed. */
  readonly otherRequests: number;
  /** Bytes of the bodies that the log keeps now, before compression. Undefined if the log could not be read. */
  readonly storedBytes: number | undefined;
  /** Reason why the log could not be read. Undefined if it was read. */
  readonly logFailure: string | undefined;
}

/** Used instead of the counts if the log could not be read. */
export interface LogFailure {
  readonly logFailure: string;
}

const DAY_MS = 24 * 3_600_000;

export const utcMonth = (now: Date): { readonly from: Date; readonly to: Date } => ({
  from: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)),
  to: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)),
});

const utcDay = (time: Date): string => time.toISOString().slice(0, 'yyyy-mm-dd'.length);

const sum = (counts: readonly { readonly requests: number }[]): number =>
  counts.reduce((total, { requests }) => total + requests, 0);

/** Returns the day on which the quota will be used up, extrapolated from the month's average so far. */
const usedUpOn = (used: number, quota: number | undefined, now: Date): string | undefined => {
  const { from, to } = utcMonth(now);
  if (quota === undefined || used === 0 || used >= quota) return undefined;
  const at = new Date(from.getTime() + ((now.getTime() - from.getTime()) * quota) / used);
  return at < to ? utcDay(at) : undefined;
};

/** The usage in an account's status. */
export interface CountedUsage {
  readonly period?: string | undefined;
  readonly accepted?: number | undefined;
  readonly quota?: number | undefined;
}

const monthName = (now: Date): string => utcDay(now).slice(0, 'yyyy-mm'.length);

/** Returns the operator's count for this month, or undefined if it is unknown. */
export const countedIn = (now: Date, { period, accepted }: CountedUsage): number | undefined =>
  period === monthName(now) ? accepted : undefined;

const everyDay = (usage: Usage, now: Date): DayUsage[] => {
  const { from, to } = utcMonth(now);
  const byDay = new Map(usage.days.map(({ day, requests }) => [day, requests]));
  const days: DayUsage[] = [];
  for (let time = from.getTime(); time < to.getTime(); time += DAY_MS) {
    const day = utcDay(new Date(time));
    days.push({ day, requests: byDay.get(day) ?? 0 });
  }
  return days;
};

export const toUsageView = (found: Usage | LogFailure, counted: CountedUsage, now: Date): UsageView => {
  const { quota } = counted;
  const logFailure = 'logFailure' in found ? found.logFailure : undefined;
  const days = 'logFailure' in found ? [] : everyDay(found, now);
  const endpoints = 'logFailure' in found ? [] : found.endpoints;
  const storedBytes = 'logFailure' in found ? undefined : found.storedBytes;
  const total = sum(days);
  const exact = countedIn(now, counted);
  const used = exact ?? total;
  return {
    month: monthName(now),
    days,
    total,
    used,
    isExact: exact !== undefined,
    quota,
    resetsOn: utcDay(utcMonth(now).to),
    usedUpOn: usedUpOn(used, quota, now),
    endpoints,
    otherRequests: Math.max(0, total - sum(endpoints)),
    storedBytes,
    logFailure,
  };
};
