import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { encodeRow, openLogStore, tailSummaries, type LogStore } from '@standin/logstore';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { clickHouseQuery } from '../harness/clickhouse-query.ts';
import { eventually } from '../harness/eventually.ts';

/** A statement, and how much it read according to the response header X-ClickHouse-Summary. */
interface Statement {
  readonly sql: string;
  readonly readRows: number;
  readonly readBytes: number;
}

const POLL_MS = 50;
const MINUTE_MS = 60_000;
const ROWS = 4_000;

/** Headers that the proxy removes, because it buffers bodies and does not announce inserts. */
const NOT_PASSED: ReadonlySet<string> = new Set(['transfer-encoding', 'x-standin-insert-mark']);

let clickHouse: TestClickHouse;
let store: LogStore;
let statements: Statement[];
let front: ReturnType<typeof createServer>;
let stop: AbortController;

const forward = async (
  incoming: IncomingMessage,
): Promise<{ response: IncomingMessage; body: Buffer; sql: string }> => {
  const sent = await buffer(incoming);
  const url = new URL(incoming.url ?? '/', clickHouse.url);
  const outgoing = request(url, {
    method: incoming.method ?? 'POST',
    headers: { ...incoming.headers, host: url.host },
  });
  outgoing.end(sent);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { response, body: await buffer(response), sql: url.searchParams.get('query') ?? sent.toString('latin1') };
};

/**
 * Starts a proxy in front of ClickHouse that records what statements read. The proxy does not announce inserts, so the log store
 * polls, as with a ClickHouse server.
 */
beforeAll(async () => {
  clickHouse = await startClickHouse();
  front = createServer((incoming, answer) => {
    forward(incoming).then(
      ({ response: { statusCode = 500, headers }, body, sql }) => {
        const passed = Object.entries(headers).filter(([name]) => !NOT_PASSED.has(name));
        const summary = JSON.parse(String(headers['x-clickhouse-summary'] ?? '{}')) as Record<string, string>;
        statements.push({ sql, readRows: Number(summary['read_rows']), readBytes: Number(summary['read_bytes']) });
        answer.writeHead(statusCode, { ...Object.fromEntries(passed), 'content-length': body.length }).end(body);
      },
      (error: unknown) => answer.destroy(error as Error),
    );
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  store = openLogStore({ ...clickHouse, url: `http://127.0.0.1:${(front.address() as AddressInfo).port}` });
  statements = [];
  await store.migrate();
});
beforeEach(() => {
  statements = [];
  stop = new AbortController();
});
afterEach(() => stop.abort());
afterAll(async () => {
  await store.close();
  front.close();
  front.closeAllConnections();
  await clickHouse.stop();
});

let projects = 0;
const newProject = (): string => `tailed-${projects++}`;
const insertOne = async (row = newLogRow()): Promise<string> => {
  await store.insert({ rows: encodeRow(row), rowCount: 1, token: row.id });
  return row.id;
};

/** Inserts rows with bodies of 1 kB, as if the insert had started `agoMs` ago. */
const insertStamped = (projectUid: string, rows: number, agoMs: number): Promise<string> =>
  clickHouseQuery(
    clickHouse,
  )(`INSERT INTO log (id, version, received_at, expires_at, project_uid, request_body, inserted_at)
    SELECT generateUUIDv4(), 2, now64(6, 'UTC'), now() + 86400, '${projectUid}', randomPrintableASCII(1000),
      now64(3, 'UTC') - toIntervalMillisecond(${agoMs}) FROM numbers(${rows})`);

/** Follows the log until the test ends. Returns an array to which the ids of the entries are added as they appear. */
const follow = (projectUid: string): string[] => {
  const seen: string[] = [];
  const filter = { projectUid, sinceUs: (Date.now() - 60 * MINUTE_MS) * 1_000 };
  const read = async (): Promise<void> => {
    for await (const { id } of tailSummaries(store, filter, stop.signal, { pollIntervalMs: POLL_MS })) seen.push(id);
  };
  void read();
  return seen;
};
const shows = (seen: readonly string[], count: number): Promise<unknown> =>
  eventually(`${count} rows`, () => seen.length, { accept: (shown) => shown === count });
const polled = (): Statement[] => statements.filter(({ sql }) => sql.includes('cityHash64(id)'));
const listed = (): Statement[] => statements.filter(({ sql }) => sql.includes('ORDER BY received_at'));
/** Waits for this many further polls. */
const nextPolls = async (count: number): Promise<Statement[]> => {
  const from = polled().length;
  await eventually(`${count} polls`, () => polled().length, { accept: (total) => total >= from + count });
  return polled().slice(from);
};

test('a tail reads no rows until one is inserted', async () => {
  const projectUid = newProject();
  await insertStamped(projectUid, ROWS, 20 * MINUTE_MS);
  await shows(follow(projectUid), ROWS);
  statements = [];
  // The one row that each poll reads is the server's clock.
  expect(Math.max(...(await nextPolls(20)).map(({ readRows }) => readRows))).toBe(1);
  expect(listed()).toEqual([]);
});

test('only the ids of recent rows are read again', async () => {
  const projectUid = newProject();
  const seen = follow(projectUid);
  await nextPolls(1);
  await insertStamped(projectUid, ROWS, 0);
  await shows(seen, ROWS);
  const lists = listed().length;
  const bytes = Math.max(...(await nextPolls(10)).map(({ readBytes }) => readBytes));
  // For each row, a poll reads a UUID, a time, and a number for the project.
  expect(bytes).toBeLessThan(ROWS * 40);
  expect(listed()).toHaveLength(lists);
});

test('ten readers of a project need no more polls than one', async () => {
  const projectUid = newProject();
  const tails = Array.from({ length: 10 }, () => follow(projectUid));
  await eventually('all readers to have listed the log', () => listed().length, { accept: (lists) => lists === 10 });
  const startedMs = performance.now();
  const polls = await nextPolls(10);
  // One more poll may have been in flight.
  expect(polls.length).toBeLessThanOrEqual((performance.now() - startedMs) / POLL_MS + 1);
  const id = await insertOne(newLogRow({ projectUid }));
  for (const seen of tails) await shows(seen, 1);
  expect(tails).toEqual(tails.map(() => [id]));
});

test('rows of the same uid under other names do not wake a tail', async () => {
  const own = { projectUid: newProject(), namespace: 'team', project: 'shop' };
  const seen: string[] = [];
  const read = async (): Promise<void> => {
    const filter = { ...own, sinceUs: (Date.now() - 60 * MINUTE_MS) * 1_000 };
    for await (const { id } of tailSummaries(store, filter, stop.signal, { pollIntervalMs: POLL_MS })) seen.push(id);
  };
  void read();
  await eventually('the first list', () => listed().length === 1);
  await insertOne(newLogRow({ ...own, namespace: 'other' }));
  await insertOne(newLogRow({ ...own, project: 'other' }));
  await nextPolls(5);
  expect(listed()).toHaveLength(1);
  const id = await insertOne(newLogRow(own));
  await shows(seen, 1);
  expect(seen).toEqual([id]);
});

test('late rows are shown once: from a slow insert, a skewed clock or a lagging replica', async () => {
  const projectUid = newProject();
  const seen = follow(projectUid);
  await nextPolls(1);
  const known = await insertOne(newLogRow({ projectUid }));
  await shows(seen, 1);
  await insertStamped(projectUid, 3, 2_000);
  await shows(seen, 4);
  // Inserts rows that are older than the range of a poll, then a row with a time one minute ahead.
  await insertStamped(projectUid, 3, 50_000);
  await shows(seen, 7);
  await insertStamped(projectUid, 1, -MINUTE_MS);
  await shows(seen, 8);
  await insertOne(newLogRow({ projectUid }));
  await shows(seen, 9);
  await nextPolls(5);
  expect(seen[0]).toBe(known);
  expect(new Set(seen).size).toBe(9);
  expect(seen).toHaveLength(9);
});
