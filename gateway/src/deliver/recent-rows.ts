import type { LogRow } from '@standin/contract';
import { decodeRow, RowBinaryReader } from '@standin/logstore';
import { readCompacted, readSegment, type RequestRecord } from './read-segment.ts';

/**
 * Reads the rows of undelivered files, and some requests of delivered ones, each id once in its highest version. Leaves out files that are
 * removed in the meantime, because ClickHouse has their rows then.
 */
export const readRecentRows = async (
  undelivered: readonly string[],
  unshown: ReadonlyMap<string, ReadonlyMap<string, RequestRecord>>,
): Promise<readonly LogRow[]> => {
  const rows = new Map<string, LogRow>();
  const add = (row: LogRow): void => {
    const known = rows.get(row.id);
    if (known === undefined || known.version <= row.version) rows.set(row.id, row);
  };
  const addRequests = async (file: string, requests: ReadonlyMap<string, RequestRecord>): Promise<void> => {
    // Rejects if a request has ended, and its file was replaced in the meantime.
    const compacted = await readCompacted(file, requests).catch(() => undefined);
    for (const row of compacted?.rows ?? []) add({ ...row, version: 0, outcome: 'in_progress' });
  };
  for (const [file, requests] of unshown) await addRequests(file, requests);
  for (const file of undelivered) {
    const content = await readSegment(file);
    if (content === undefined) continue;
    const reader = new RowBinaryReader(content.exchanges.rows);
    while (!reader.done) add(decodeRow(reader));
    if (content.requests.length > 0)
      await addRequests(file, new Map(content.requests.map((request) => [request.idKey, request])));
  }
  return [...rows.values()];
};
