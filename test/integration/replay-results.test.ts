import { randomUUID } from 'node:crypto';
import { openLogStore, type LogStore, type ReplayResult } from '@standin/logstore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';

let clickHouse: TestClickHouse;
let store: LogStore;

beforeAll(async () => {
  clickHouse = await startClickHouse();
  store = openLogStore(clickHouse);
  await store.migrate();
});
afterAll(async () => {
  await store.close();
  await clickHouse.stop();
});

const OWNER = { projectUid: 'project', namespace: 'default', project: 'shop' };
const NOW_US = Date.now() * 1_000;
const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

const result = (replayUid: string, changes: Partial<ReplayResult> = {}): ReplayResult => ({
  projectUid: 'project',
  replayUid,
  requestId: randomUUID(),
  requestReceivedAtUs: NOW_US,
  sentAtUs: NOW_US,
  expiresAtS: Math.floor(NOW_US / 1e6) + 3_600,
  namespace: 'default',
  project: 'shop',
  replay: 'again',
  target: 'Upstream',
  url: 'https://api.example.com/orders?a=\xe9',
  method: 'POST',
  sentHeaders: [['x-a', 'caf\xe9']],
  sentBody: new Uint8Array(),
  edited: false,
  status: 200,
  responseHeaders: [
    ['Set-Cookie', 'a=1'],
    ['set-cookie', 'b=2'],
  ],
  responseBody: bytes,
  responseBodyBytes: 1_000,
  responseTruncated: true,
  error: '',
  durationUs: 1_500,
  firstByteUs: 700,
  ...changes,
});

test('stores a result byte for byte', async () => {
  const row = result('one');
  await store.replays.insert([row], () => Infinity);
  expect(
    await store.replays.exchange({
      ...OWNER,
      replayUid: 'one',
      requestId: row.requestId,
    }),
  ).toEqual({
    requestId: row.requestId,
    replayUid: 'one',
    namespace: 'default',
    replay: 'again',
    sentAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    target: 'Upstream',
    url: row.url,
    method: 'POST',
    status: 200,
    error: '',
    durationMs: 1.5,
    firstByteMs: 0.7,
    request: { headers: row.sentHeaders, body: undefined },
    response: {
      status: 200,
      headers: row.responseHeaders,
      body: bytes.toString('base64'),
      bodyEncoding: 'base64',
      bodyBytes: 1_000,
      truncated: true,
    },
  });
});

test('stores an edited body, even an empty one', async () => {
  const [some, none] = [
    result('edited', { edited: true, sentBody: Buffer.from('x') }),
    result('edited', { edited: true }),
  ];
  await store.replays.insert([some, none], () => Infinity);
  const editedBody = async ({ requestId }: ReplayResult) =>
    (await store.replays.exchange({ ...OWNER, replayUid: 'edited', requestId }))?.request.body?.body;
  expect([await editedBody(some), await editedBody(none)]).toEqual(['x', '']);
});

test('counts the last of two attempts at a request', async () => {
  const requestId = randomUUID();
  const key = { ...OWNER, replayUid: 'twice' };
  await store.replays.insert(
    [
      result('twice', { requestId, status: 0, error: 'no connection' }),
      result('twice', { requestId, sentAtUs: NOW_US + 1 }),
      result('twice', { status: 503 }),
    ],
    () => Infinity,
  );
  expect(await store.replays.counts(key)).toEqual([
    { status: 200, count: 1 },
    { status: 503, count: 1 },
  ]);
  expect(await store.replays.results({ ...key, status: 0, limit: 10 })).toEqual([]);
  expect(await store.replays.results({ ...key, status: 200, limit: 10 })).toMatchObject([{ requestId }]);
  expect(await store.replays.exchange({ ...key, requestId })).toMatchObject({ status: 200, error: '' });
});

test('returns results in the order of their requests, and the ids of completed requests', async () => {
  const rows = [3, 1, 2].map((second) => result('order', { requestReceivedAtUs: NOW_US + second * 1_000_000 }));
  const key = { ...OWNER, replayUid: 'order' };
  await store.replays.insert(rows, () => Infinity);
  const ids = (await store.replays.results({ ...key, limit: 10 })).map(({ requestId }) => requestId);
  expect(ids).toEqual([rows[1], rows[2], rows[0]].map((row) => row?.requestId));
  const done = await store.replays.ids({ ...key, sinceUs: NOW_US + 2_000_000 });
  expect(new Set(done)).toEqual(new Set(ids.slice(1)));
});

test('returns the replays of a request, newest first, from its project only', async () => {
  const requestId = randomUUID();
  await store.replays.insert(
    [
      result('first', { requestId }),
      result('second', { requestId, sentAtUs: NOW_US + 1 }),
      result('other', { requestId, projectUid: 'other' }),
      result('elsewhere', { requestId, namespace: 'other' }),
      result('of-another-name', { requestId, project: 'other' }),
    ],
    () => Infinity,
  );
  const request = { ...OWNER, requestId };
  const found = await store.replays.ofRequest(request, 10);
  expect(found.map(({ replayUid }) => replayUid)).toEqual(['second', 'first']);
  expect(await store.replays.ofRequest({ ...request, requestId: 'not an id' }, 10)).toEqual([]);
});

test('does not return expired results', async () => {
  const row = result('expired', { expiresAtS: Math.floor(NOW_US / 1e6) - 10 });
  await store.replays.insert([row], () => Infinity);
  const key = { ...OWNER, replayUid: 'expired' };
  expect(await store.replays.exchange({ ...key, requestId: row.requestId })).toBeUndefined();
  expect(await store.replays.counts(key)).toEqual([]);
});

test('refuses a result that reaches ClickHouse when its sender may no longer lead', async () => {
  const [late, inTime] = [result('fenced'), result('fenced')];
  await expect(store.replays.insert([late], () => -2_000)).rejects.toMatchObject({ kind: 'retryable', code: '469' });
  await store.replays.insert([inTime], () => 5_000);
  const found = await store.replays.results({ ...OWNER, replayUid: 'fenced', limit: 10 });
  expect(found.map(({ requestId }) => requestId)).toEqual([inTime.requestId]);
});
