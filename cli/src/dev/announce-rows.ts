import type { LogRow } from '@standin/contract';
import type { LogSink } from '@standin/gateway';
import {
  decodeRow,
  formatTime,
  LOG_COLUMNS,
  RowBinaryReader,
  type InsertBatch,
  type LogStore,
} from '@standin/logstore';
import type { RequestEvent } from './dev-output.ts';

/**
 * Where the gateway of this process delivers: the log, and then `announce`, with each request that was received after `since`, once
 * ClickHouse has it. What an earlier process left to deliver is older.
 */
export const announceRows = (store: LogStore, since: Date, announce: (request: RequestEvent) => void): LogSink => ({
  migrate: () => store.migrate(),
  insert: async (batch) => {
    await store.insert(batch);
    for (const row of rowsOf(batch)) if (row.receivedAtUs >= since.getTime() * 1000) announce(toEvent(row));
  },
  // The store is its owner's to close.
  close: () => Promise.resolve(),
});

/** The oldest first. None of a batch that an earlier version left. */
const rowsOf = ({ rows, columnCount = LOG_COLUMNS.length }: InsertBatch): LogRow[] => {
  if (columnCount !== LOG_COLUMNS.length) return [];
  const reader = new RowBinaryReader(rows);
  const found: LogRow[] = [];
  while (!reader.done) found.push(decodeRow(reader));
  return found.sort((a, b) => a.receivedAtUs - b.receivedAtUs);
};

/** Without what makes rows large: some are held for a while. */
const toEvent = (row: LogRow): RequestEvent => {
  const { id, namespace, project, endpoint, method, path, query, status, outcome } = row;
  return {
    ...{ id, namespace, project, endpoint, method, path, query, status, outcome },
    receivedAt: formatTime(row.receivedAtUs),
    durationMs: row.durationUs / 1000,
  };
};
