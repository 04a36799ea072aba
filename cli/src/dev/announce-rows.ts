import type { LogRow } from '@standin/contract';
import type { LogSink } from '@standin/gateway';
import { formatTime } from '@standin/exchange';
import { decodeRow, LOG_COLUMNS, RowBinaryReader, type InsertBatch, type LogStore } from '@standin/logstore';
import type { RequestEvent } from './dev-output.ts';

/**
 * The destination of this process's gateway: the log. Calls `announce` with each request received after `since` once ClickHouse has
 * stored it. Rows left by an earlier process are older.
 */
export const announceRows = (store: LogStore, since: Date, announce: (request: RequestEvent) => void): LogSink => ({
  migrate: () => store.migrate(),
  insert: async (batch) => {
    await store.insert(batch);
    for (const row of rowsOf(batch)) if (row.receivedAtUs >= since.getTime() * 1000) announce(toEvent(row));
  },
  // The owner of the store closes it.
  close: () => Promise.resolve(),
});

/** Oldest first. Empty for a batch that an earlier version left. */
const rowsOf = ({ rows, columnCount = LOG_COLUMNS.length }: InsertBatch): LogRow[] => {
  if (columnCount !== LOG_COLUMNS.length) return [];
  const reader = new RowBinaryReader(rows);
  const found: LogRow[] = [];
  while (!reader.done) found.push(decodeRow(reader));
  return found.sort((a, b) => a.receivedAtUs - b.receivedAtUs);
};

/** Omits the large columns: some events are held for a while. */
const toEvent = (row: LogRow): RequestEvent => {
  const { id, namespace, project, endpoint, method, path, query, status, outcome } = row;
  return {
    ...{ id, namespace, project, endpoint, method, path, query, status, outcome },
    receivedAt: formatTime(row.receivedAtUs),
    durationMs: row.durationUs / 1000,
  };
};
