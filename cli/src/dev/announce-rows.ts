import { formatTime, type LogRow } from '@standin/contract';
import type { LogSink } from '@standin/gateway';
import {
  decodeBodyTexts,
  decodeRow,
  LOG_COLUMNS,
  RowBinaryReader,
  type InsertBatch,
  type LogStore,
} from '@standin/logstore';
import type { RequestEvent } from './dev-output.ts';

/**
 * Returns the log as the destination for this process's gateway. Calls `announce` with each request received after `since` as soon
 * as ClickHouse has stored it. Rows left by an earlier process are older, so they are not announced.
 */
export const announceRows = (
  store: Pick<LogStore, 'migrate' | 'insert'>,
  since: Date,
  announce: (request: RequestEvent) => void,
): LogSink => ({
  migrate: () => store.migrate(),
  insert: async (batch) => {
    await store.insert(batch);
    for (const row of decodeRows(batch)) if (row.receivedAtUs >= since.getTime() * 1000) announce(toEvent(row));
  },
  // The owner of the store closes the store.
  close: () => Promise.resolve(),
});

/** Returns the rows of a batch, oldest first. Returns none for a batch left by an earlier version, which has fewer columns. */
const decodeRows = ({ rows, columnCount = LOG_COLUMNS.length, hasTexts }: InsertBatch): LogRow[] => {
  if (columnCount !== LOG_COLUMNS.length) return [];
  const reader = new RowBinaryReader(rows);
  const found: LogRow[] = [];
  while (!reader.done) {
    found.push(decodeRow(reader));
    if (hasTexts === true) decodeBodyTexts(reader);
  }
  return found.sort((a, b) => a.receivedAtUs - b.receivedAtUs);
};

/** Omits the large columns, because some events are held for a while. */
const toEvent = (row: LogRow): RequestEvent => {
  const { id, namespace, project, endpoint, method, path, query, status, outcome } = row;
  return {
    id,
    namespace,
    project,
    endpoint,
    method,
    path,
    query,
    status,
    outcome,
    responseName: row.response,
    credential: row.credential,
    receivedAt: formatTime(row.receivedAtUs),
    durationMs: row.durationUs / 1000,
  };
};
