import type { ClickHouse } from './clickhouse.ts';
import { decodeAll } from './run-query.ts';

/** How long the difference between the two clocks is used. */
const KNOWN_MS = 60_000;

export interface ServerClock {
  /**
   * Resolves with the time of ClickHouse's clock, in milliseconds since the epoch. The time is never ahead of that clock, but behind it by
   * at most as long as the read of the clock took.
   */
  nowMs(): Promise<number>;
  /** Reads the clock again for the next call, because it may have changed, or another server may respond. */
  forget(): void;
}

export const serverClock = (clickhouse: ClickHouse): ServerClock => {
  let known: { readonly serverMs: number; readonly readAt: number } | undefined;
  const nowMs = async (): Promise<number> => {
    if (known === undefined || performance.now() - known.readAt > KNOWN_MS) {
      const sql = 'SELECT toUnixTimestamp64Milli(now64(3)) FORMAT RowBinary';
      const [serverMs = NaN] = decodeAll(await clickhouse.run('read the clock', { sql }), (reader) => reader.int64());
      known = { serverMs, readAt: performance.now() };
    }
    return known.serverMs + performance.now() - known.readAt;
  };
  const forget = (): void => {
    known = undefined;
  };
  return { nowMs, forget };
};
