import type { ResourceObject } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import type { Backend } from '../backend.ts';
import { inTime } from '../log-timeout.ts';
import { accountSpec, accountStatus } from '../resources/specs.ts';
import { countedIn, utcMonth, toUsageView, type LogFailure, type UsageView } from './usage-view.ts';

/** Slightly longer than ClickHouse's own query timeout (10 s), because ClickHouse's error is more precise. */
export const LOG_MS_MAX = 12_000;

/**
 * Returns an account's usage this month. If the log is unavailable, returns the operator's count. Rejects with `LogStoreError` if
 * this count is unknown too, or with `SourceError` (`Forbidden`).
 */
export const accountUsage = async (
  { resources, logs }: Pick<Backend, 'resources' | 'logs'>,
  account: ResourceObject,
  now: Date,
): Promise<UsageView> => {
  const counted = accountStatus(account).usage ?? {};
  const quota = counted.quota ?? accountSpec(account).monthlyQuota;
  const orFailure = (error: unknown): LogFailure => {
    if (!(error instanceof LogStoreError) || countedIn(now, counted) === undefined) throw error;
    // Omits the error's message, because it contains host names and may quote captured data.
    return { logFailure: `Cannot read from ClickHouse (${error.code}).` };
  };
  const usage = resources.findIdentity(account).then((identity) => logs.usage(identity, utcMonth(now)));
  const found = await inTime(usage, LOG_MS_MAX).catch(orFailure);
  return toUsageView(found, { ...counted, quota }, now);
};
