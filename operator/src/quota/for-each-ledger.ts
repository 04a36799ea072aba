import type { CachedObjects } from '../object-cache.ts';
import type { ListedLedger } from './ledger-store.ts';

/** After this many failures, the log or the API server is probably unavailable. */
const FAILURES_MAX = 10;

/**
 * Calls `work` for one ledger after the other. Namespaces take turns, so that one with many accounts does not delay the others. After a
 * failure, only the other ledgers of its namespace are left out. Rejects at the end with the first failure, or earlier after
 * `FAILURES_MAX` of them.
 */
export const forEachLedger = async (
  ledgers: readonly ListedLedger[],
  cache: Pick<CachedObjects, 'get'>,
  work: (listed: ListedLedger) => Promise<void>,
): Promise<void> => {
  const byNamespace = Map.groupBy(ledgers, ([accountUid]) => cache.get(accountUid)?.metadata.namespace);
  const failures: unknown[] = [];
  let lines = Array.from(byNamespace.values(), (group) => group.values());
  while (lines.length > 0 && failures.length < FAILURES_MAX) {
    const left: typeof lines = [];
    for (const line of lines) {
      const { value: listed } = line.next();
      if (listed === undefined || failures.length >= FAILURES_MAX) continue;
      try {
        await work(listed);
        left.push(line);
      } catch (error) {
        failures.push(error);
      }
    }
    lines = left;
  }
  if (failures.length > 0) throw failures[0];
};
