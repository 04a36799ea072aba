import type { ResourceObject } from '@standin/contract';
import { DEFINITIONS } from '@standin/crds';
import { LogStoreError, type Usage } from '@standin/logstore';
import type { Backend } from '../backend.ts';
import { countedIn, monthOf, toUsageView, type LogFailure, type UsageView } from './usage-view.ts';

/** Somewhat longer than the query may take in ClickHouse (10 s), whose own word is better than none. */
export const LOG_MS_MAX = 12_000;

/**
 * An account's month so far. While the log is away it has what the operator has counted, if that is known. Rejects with `SourceError`
 * (`Forbidden`) or `LogStoreError`.
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
    // Its message may quote what was captured, and names hosts.
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
