import type { ResourceObject } from '@standin/contract';
import { DEFINITIONS } from '@standin/crds';
import { LogStoreError, type Usage } from '@standin/logstore';
import type { Backend } from '../backend.ts';
import { countedIn, monthOf, toUsageView, type LogFailure, type UsageView } from './usage-view.ts';

/** Slightly longer than the limit of the query in ClickHouse (10 s), because ClickHouse's own error is more precise. */
export const LOG_MS_MAX = 12_000;

/**
 * The current month of an account. While the log is unavailable, it has the operator's count, if known. Rejects with `SourceError` (`Forbidden`) or
 * `LogStoreError`.
 */
export const accountUsage = async (
  { logs }: Pick<Backend, 'logs'>,
  { metadata, spec, status }: ResourceObject,
  now: Date,
): Promise<UsageView> => {
  const { namespace, name, uid } = metadata;
  const counted = DEFINITIONS.Account.status.safeParse(status).data?.usage ?? {};
  const quota = counted.quota ?? DEFINITIONS.Account.spec.safeParse(spec).data?.monthlyQuota;
  const orFailure = (error: unknown): LogFailure => {
    if (!(error instanceof LogStoreError) || countedIn(now, counted) === undefined) throw error;
    // The message may quote captured data, and names hosts.
    return { logFailure: `ClickHouse cannot be read now (${error.code}).` };
  };
  const found = await inTime(logs.usage({ namespace, name, uid }, monthOf(now))).catch(orFailure);
  return toUsageView(found, { ...counted, quota }, now);
};

const inTime = async (usage: Promise<Usage>): Promise<Usage> => {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timedOut = { kind: 'retryable', code: 'ETIMEDOUT', cause: undefined } as const;
  const timer = setTimeout(() => reject(new LogStoreError('ClickHouse does not answer', timedOut)), LOG_MS_MAX);
  try {
    return await Promise.race([usage, late]);
  } finally {
    clearTimeout(timer);
  }
};
