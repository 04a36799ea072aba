import { LogStoreError } from '@standin/logstore';

export const LOG_TIMED_OUT = 'ETIMEDOUT';

/** Rejects with `LogStoreError` (`ETIMEDOUT`) if the log does not respond within `timeoutMs`. Does not cancel the read. */
export const inTime = async <T>(read: Promise<T>, timeoutMs: number): Promise<T> => {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timedOut = { kind: 'retryable', code: LOG_TIMED_OUT } as const;
  const timer = setTimeout(() => reject(new LogStoreError('ClickHouse is not responding', timedOut)), timeoutMs);
  try {
    return await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
};
