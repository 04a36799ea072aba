import type { LogRow } from '@standin/contract';
import { encodeRow, openLogStore, type LogStore } from '@standin/logstore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { eventually } from '../harness/eventually.ts';

let clickHouse: TestClickHouse;
let store: LogStore;

const at = (time: string): number => Date.parse(time) * 1_000;
const NOVEMBER = { from: new Date('2026-11-01T00:00:00Z'), to: new Date('2026-12-01T00:00:00Z') };
const accountUid = 'account-a';
const TEAM = { uid: accountUid, namespace: 'default', name: 'team' };
const row = (receivedAt: string, changes: Partial<LogRow> = {}): LogRow =>
  newLogRow({
    accountUid,
    namespace: 'default',
    account: 'team',
    projectUid: 'p',
    endpoint: 'orders',
    receivedAtUs: at(receivedAt),
    ...changes,
  });

beforeAll(async () => {
  clickHouse = await startClickHouse();
  store = openLogStore(clickHouse);
  await store.migrate();
  const unanswered = row('2026-11-21T12:00:00Z', { version: 1, status: 0, outcome: 'response_unknown' });
  const rows = [
    row('2026-10-31T23:59:59.999999Z'),
    row('2026-11-01T00:00:00Z'),
    row('2026-11-01T23:59:59.999999Z', { endpoint: 'health' }),
    unanswered,
    { ...unanswered, version: 2 as const, status: 200, outcome: 'mocked' as const },
    row('2026-11-30T23:59:59.999999Z', { endpointUid: 'recreated' }),
    row('2026-11-21T12:00:00Z', { projectUid: 'q', project: 'other' }),
    row('2026-12-01T00:00:00Z'),
    row('2026-11-21T12:00:00Z', { accountUid: 'account-b' }),
    row('2026-11-21T12:00:00Z', { account: 'other' }),
    row('2026-11-21T12:00:00Z', { namespace: 'other' }),
    row('2026-11-21T12:00:00Z', { expiresAtS: 1_000_000_000 }),
  ];
  // Delivers the rows twice, as after an outage that is longer than every deduplication window.
  for (const token of ['first', 'second'])
    await store.insert({ rows: Buffer.concat(rows.map(encodeRow)), rowCount: rows.length, token });
});

afterAll(async () => {
  await store.close();
  await clickHouse.stop();
});

test("counts each request in an account's month once, by day and endpoint", async () => {
  const { days, endpoints } = await store.usage(TEAM, NOVEMBER);
  expect(days).toEqual([
    { day: '2026-11-01', requests: 2 },
    { day: '2026-11-21', requests: 2 },
    { day: '2026-11-30', requests: 1 },
  ]);
  expect(
    endpoints.map(({ project, projectUid, endpoint, requests }) => [project, projectUid, endpoint, requests]),
  ).toEqual([
    [expect.any(String), 'p', 'orders', 3],
    ['other', 'q', 'orders', 1],
    [expect.any(String), 'p', 'health', 1],
  ]);
});

test('is empty for an account without requests', async () => {
  expect(await store.usage({ ...TEAM, uid: 'unknown-account' }, NOVEMBER)).toEqual({
    days: [],
    endpoints: [],
    storedBytes: 0,
  });
});

test('adds up the bodies of all requests that the log keeps, of every month, once each', async () => {
  const { storedBytes } = await store.usage(TEAM, NOVEMBER);
  const { requestBody, responseBody } = newLogRow();
  const ofDefault = requestBody.length + responseBody.length;
  // Five requests in November, and one in each of the adjacent months.
  expect(storedBytes).toBe(7 * ofDefault);
});

test("knows each project's last request", async () => {
  const { project } = newLogRow();
  const last = [
    { uid: 'p', namespace: 'default', name: project, receivedAt: new Date('2026-12-01T00:00:00Z') },
    { uid: 'p', namespace: 'other', name: project, receivedAt: new Date('2026-11-21T12:00:00Z') },
    { uid: 'q', namespace: 'default', name: 'other', receivedAt: new Date('2026-11-21T12:00:00Z') },
  ];
  const found = async (insertedWithinMs?: number) => new Set(await store.lastRequests(insertedWithinMs));
  expect(await found()).toEqual(new Set(last));
  expect(await found(3_600_000)).toEqual(new Set(last));
});

test('counts only requests that were inserted within the given time', async () => {
  await eventually('the end of the window', () => store.lastRequests(500), { accept: ({ length }) => length === 0 });
  const rows = encodeRow(row('2026-11-02T00:00:00Z', { projectUid: 'late' }));
  await store.insert({ rows, rowCount: 1, token: 'late' });
  expect(await store.lastRequests(60_000)).toContainEqual(
    expect.objectContaining({ uid: 'late', receivedAt: new Date('2026-11-02T00:00:00Z') }),
  );
});
