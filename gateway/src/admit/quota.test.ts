import type { PermitAnswer, PermitRequest } from '@standin/contract';
import { describe, expect, test, vi } from 'vitest';
import {
  account,
  endpoint,
  HOST,
  KEY,
  PATH,
  project,
  request,
  startTestGateway,
  type TestGatewayOptions,
  URI,
  WITH_KEY,
} from '../gateway.testing.ts';
import { exchange, rejectionCode, responseHeader } from '../raw-client.testing.ts';
import { diskError, FaultyDisk } from '../record/spool/spool.testing.ts';

const WITHIN = { timeout: 15_000 };

/** Starts a complete gateway with a fake operator that grants permits over the real stream. */
const start = (quota: number, options: Pick<TestGatewayOptions, 'spoolDisk'> = {}) =>
  startTestGateway({
    objects: [{ ...account('own', KEY), quota }, project('shop', URI), endpoint('/v1/orders')],
    ...options,
  });

/** Grants one block, then no more permits. */
const grantOnce = (permits: number) => {
  let isGranted = false;
  return ({ want }: PermitRequest): PermitAnswer => {
    if (want === 0) return { kind: 'noted' };
    if (isGranted) return { kind: 'exhausted', period: '2099-12', limit: permits, used: permits };
    isGranted = true;
    return { kind: 'granted', block: 'b1', period: '2099-12', permits };
  };
};

test('the gateway accepts as many requests as there are permits, and records the permit in each row', async () => {
  await using stand = await start(3);
  stand.operator.permits = grantOnce(3);
  const ask = () => exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
  const responses = await Promise.all(Array.from({ length: 8 }, ask));
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(3);
  const refused = responses.find(({ status }) => status === 429);
  expect(rejectionCode(refused)).toBe('quota_exceeded');
  expect(Number(refused && responseHeader(refused, 'retry-after'))).toBeGreaterThan(0);
  expect(JSON.parse(refused?.body.toString() ?? '')).toMatchObject({
    status: 429,
    code: 'quota_exceeded',
    limit: 3,
    used: 3,
    reset: '2100-01-01T00:00:00.000Z',
  });
  await stand.sink.until(({ rows }) => rows.length >= 3);
  const { rows } = stand.sink;
  expect(rows.map(({ quotaPeriod, quotaBlock }) => `${quotaPeriod} ${quotaBlock}`)).toEqual(
    Array(3).fill('2099-12 b1'),
  );
  expect(rows.map(({ quotaPermit }) => quotaPermit).sort()).toEqual([1, 2, 3]);
});

test('the gateway returns unspent permits on a recall and on shutdown', async () => {
  await using stand = await start(100);
  const { operator } = stand;
  operator.permits = ({ want, serial }) =>
    want === 0 ? { kind: 'noted' } : { kind: 'granted', block: `b${serial}`, period: '2099-12', permits: 10 };
  const ask = () => exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
  expect((await ask()).status).toBe(200);
  operator.send({ type: 'recall', account: 'account-own' });
  await vi.waitFor(() => expect(operator.permitRequests).toHaveLength(2), WITHIN);
  expect(operator.permitRequests[1]).toMatchObject({ want: 0, closed: [{ block: 'b1', used: 1 }] });
  expect((await ask()).status).toBe(200);
  await stand.gateway.stop();
  expect(operator.permitRequests.at(-1)).toMatchObject({ want: 0, closed: [{ block: 'b3', used: 1 }] });
});

test('the gateway returns the permit of a request that was waiting for the disk during a recall and is refused afterwards', async () => {
  const disk = new FaultyDisk();
  await using stand = await start(100, { spoolDisk: disk });
  const { operator } = stand;
  operator.permits = ({ want }) =>
    want === 0 ? { kind: 'noted' } : { kind: 'granted', block: 'b1', period: '2099-12', permits: 10 };
  const isRecalled = Promise.withResolvers<undefined>();
  disk.onAppend = async () => {
    await isRecalled.promise;
    disk.isFull = true;
    return { error: diskError('ENOSPC'), bytesWritten: 0 };
  };
  const response = exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
  await vi.waitFor(() => expect(disk.appends).toBe(1), WITHIN);
  operator.send({ type: 'recall', account: 'account-own' });
  await vi.waitFor(() => expect(operator.permitRequests).toHaveLength(2), WITHIN);
  expect(operator.permitRequests[1]).toMatchObject({ want: 0, held: ['b1'], closed: [] });
  isRecalled.resolve(undefined);
  expect((await response).status).toBe(503);
  operator.send({ type: 'recall', account: 'account-own' });
  await vi.waitFor(() => expect(operator.permitRequests).toHaveLength(3), WITHIN);
  expect(operator.permitRequests[2]).toMatchObject({ want: 0, held: [], closed: [{ block: 'b1', used: 0 }] });
});

test('the gateway refuses a request with 503 and stores nothing if the operator fails to grant permits', async () => {
  await using stand = await start(3);
  const response = await exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
  expect([response.status, rejectionCode(response), responseHeader(response, 'retry-after')]).toEqual([
    503,
    'quota_unavailable',
    '1',
  ]);
  await stand.gateway.stop();
  expect(stand.sink.rows).toEqual([]);
});

describe('during a handover between operators', () => {
  const granted = { kind: 'granted', block: 'b2', period: '2099-12', permits: 10 } as const;

  test('a request that needs its first permit waits for the next leader', async () => {
    await using stand = await start(100);
    const { operator } = stand;
    operator.permits = () => granted;
    operator.leads = false;
    operator.cutStreams();
    await vi.waitFor(() => expect(operator.refusals).toBeGreaterThan(0), WITHIN);
    const response = exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
    // While the request is waiting, the gateway retries this operator, which does not give it a stream.
    const { refusals } = operator;
    await vi.waitFor(() => expect(operator.refusals).toBeGreaterThan(refusals), WITHIN);
    operator.leads = true;
    expect((await response).status).toBe(200);
  });

  test('the gateway repeats an interrupted permit request with the next leader', async () => {
    await using stand = await start(100);
    const { operator } = stand;
    operator.permits = () => {
      operator.permits = () => granted;
      operator.cutConnections();
      return undefined;
    };
    const response = await exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
    expect([response.status, operator.permitRequests.length, operator.streamsOpened]).toEqual([200, 2, 2]);
  });

  test('a request is refused within five seconds if the leader does not respond', async () => {
    await using stand = await start(100);
    const { operator } = stand;
    const answered = Promise.withResolvers<undefined>();
    operator.permits = () => answered.promise;
    const began = performance.now();
    const response = await exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
    expect([response.status, rejectionCode(response)]).toEqual([503, 'quota_unavailable']);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(operator.permitRequests).toHaveLength(1);
    answered.resolve(undefined);
  });

  test('a request is refused within five seconds if there is no new leader', async () => {
    await using stand = await start(100);
    const { operator } = stand;
    operator.leads = false;
    operator.cutConnections();
    const began = performance.now();
    const response = await exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
    expect([response.status, rejectionCode(response)]).toEqual([503, 'quota_unavailable']);
    expect(performance.now() - began).toBeLessThan(5_000);
    // By now, the absence of a leader counts as an outage, so the next request is refused immediately.
    const later = performance.now();
    expect((await exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]))).status).toBe(503);
    expect(performance.now() - later).toBeLessThan(1_000);
  });
});
