import type { ClickHouse } from './clickhouse.ts';
import { putReplayResult, replayResultSize } from './codecs.generated.ts';
import { columnNames } from './columns.ts';
import { LogStoreError } from './log-store-error.ts';
import { REPLAY_RESULTS_TABLE, type ReplayResult } from './replay-results-table.ts';
import { putUint32 } from './row-binary.ts';
import type { ServerClock } from './server-clock.ts';

/** `stored_before` is not stored. ClickHouse compares it with its time (migrations/003_replay_results.sql). */
const COLUMNS = [...columnNames(REPLAY_RESULTS_TABLE), 'stored_before'].join(', ');
const STORED_BEFORE_SIZE = 4;

const UINT32_MAX = 0xff_ff_ff_ff;
/** ClickHouse's code for a row that breaks a constraint. The only constraint is `in_time`. */
const VIOLATED_CONSTRAINT = '469';

/** See `ReplayStore.insert`. */
export const insertReplayResults = async (
  { clickhouse, clock }: { readonly clickhouse: ClickHouse; readonly clock: ServerClock },
  results: readonly ReplayResult[],
  remainingMs: () => number,
): Promise<void> => {
  if (results.length === 0) return;
  const operation = `store ${results.length} replay results`;
  const storedBeforeS = Math.floor(((await clock.nowMs()) + remainingMs()) / 1_000);
  const body = Buffer.allocUnsafe(results.reduce((size, row) => size + replayResultSize(row) + STORED_BEFORE_SIZE, 0));
  let at = 0;
  for (const row of results) at = putUint32(body, Math.min(storedBeforeS, UINT32_MAX), putReplayResult(body, row, at));
  const sql = `INSERT INTO replay_results (${COLUMNS}) FORMAT RowBinary`;
  try {
    await clickhouse.run(operation, { sql, settings: { async_insert: 0 }, body });
  } catch (error) {
    if (!(error instanceof LogStoreError) || error.code !== VIOLATED_CONSTRAINT) throw error;
    clock.forget();
    throw new LogStoreError(`Could not ${operation} in time`, { kind: 'retryable', code: VIOLATED_CONSTRAINT });
  }
};
