import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openLogStore, type LogStore } from './log-store.ts';

const UNKNOWN_SETTING =
  "Code: 115. DB::Exception: Setting deduplicate_insert is neither a builtin setting nor started with the prefix 'SQL_'. (UNKNOWN_SETTING)";

let server: Server;
let store: LogStore;
/** Whether the server knows the setting `deduplicate_insert`. */
let isNew: boolean;
/** The value of `deduplicate_insert` in each insert that the server accepted. */
let accepted: (string | null)[];

beforeEach(async () => {
  accepted = [];
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const { searchParams } = new URL(request.url ?? '', 'http://clickhouse');
      const sql = `${searchParams.get('query') ?? ''}${body}`;
      const given = searchParams.get('deduplicate_insert');
      if (sql.includes('system.settings')) response.end(isNew ? '1\n' : '0\n');
      else if (given !== null && !isNew) response.writeHead(404).end(UNKNOWN_SETTING);
      else response.end(void accepted.push(given));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  store = openLogStore({ url: `http://127.0.0.1:${port}`, username: 'a', password: '', database: 'standin' });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await store.close();
  server.closeAllConnections();
  server.close();
});

const insert = (): Promise<void> =>
  store.insert({ rows: Buffer.from('a'), rowCount: 1, token: 'token', columnCount: 1 });

test('inserts follow the settings that ClickHouse knows, after a rollback at once and after an upgrade within a minute', async () => {
  isNew = true;
  await insert();
  isNew = false;
  await expect(insert()).rejects.toMatchObject({ kind: 'retryable', code: '115' });
  await insert();
  isNew = true;
  await insert();
  const later = performance.now() + 60_000;
  vi.spyOn(performance, 'now').mockImplementation(() => later);
  await insert();
  expect(accepted).toEqual(['enable', null, null, 'enable']);
});
