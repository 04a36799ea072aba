import type { ClickHouse } from './clickhouse.ts';
import { decodeAll } from './run-query.ts';

/** How long the difference between the two clocks is used. */
const KNOWN_MS = 60_000;

/**
 * Returns a function that resolves with the time of ClickHouse's clock, in milliseconds since the epoch. The time is never ahead of
 * that clock, but behind it by at most as long as the read of the clock took.
 */
export const serverClock = (clickhouse: ClickHouse): (() => Promise<number>) => {
  let known: { readonly serverMs: number; readonly readAt: number } | undefined;
  return async () => {
    if (known === undefined || performance.now() - known.readAt > KNOWN_MS) {
      const sql = 'SELECT toUnixTimestamp64Milli(now64(3)) FORMAT RowBinary';
      const [serverMs = NaN] = decodeAll(await clickhouse.run('read the clock', { sql }), (reader) => reader.int64());
      known = { serverMs, readAt: performance.now() };
    }
    return known.serverMs + performance.now() - known.readAt;
  };
};
