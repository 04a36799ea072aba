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
import { exchange, headerOf } from '../raw-client.testing.ts';
import { diskError, FaultyDisk } from '../record/spool/spool.testing.ts';

const WITHIN = { timeout: 15_000 };

/** The whole gateway with an operator that grants, over the real stream. */

const start = (quota: number, options: Pick<TestGatewayOptions, 'spoolDisk'> = {}) =>
  startTestGateway({
    objects: [{ ...account('own', KEY), quota }, project('shop', URI), endpoint('/v1/orders')],
    ...options,
  });

/** Grants one block of so many permits, then nothing. */
const grantOnce = (permits: number) => {
  let isGranted = false;
  return ({ want }: PermitRequest): PermitAnswer => {
    if (want === 0) return { kind: 'noted' };
    if (isGranted) return { kind: 'exhausted', period: '2099-12', limit: permits, used: permits };
    isGranted = true;
    return { kind: 'granted', block: 'b1', period: '2099-12', permits };
  };
};

test('as many requests are accepted as permits were granted; each row says which it had', async () => {
  await using stand = await start(3);
  stand.operator.permits = grantOnce(3);
  const ask = () => exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
  const answers = await Promise.all(Array.from({ length: 8 }, ask));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused && headerOf(refused, 'standin-rejected')).toBe('quota_exceeded');
  expect(Number(refused && headerOf(refused, 'retry-after'))).toBeGreaterThan(0);
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

test('a recall and the end of the gateway give back what is left', async () => {
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

test('a recall while a request waits for the disk, which then refuses it: its permit is given back, too', async () => {
  const disk = new FaultyDisk();
  await using stand = await start(100, { spoolDisk: disk });
  const { operator } = stand;
  operator.permits = ({ want }) =>
    want === 0 ? { kind: 'noted' } : { kind: 'granted', block: 'b1', period: '2099-12', permits: 10 };
  const isTold = Promise.withResolvers<undefined>();
  disk.onAppend = async () => {
    await isTold.promise;
    disk.isFull = true;
    return { error: diskError('ENOSPC'), bytesWritten: 0 };
  };
  const answer = exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
  await vi.waitFor(() => expect(disk.appends).toBe(1), WITHIN);
  operator.send({ type: 'recall', account: 'account-own' });
  await vi.waitFor(() => expect(operator.permitRequests).toHaveLength(2), WITHIN);
  expect(operator.permitRequests[1]).toMatchObject({ want: 0, held: ['b1'], closed: [] });
  isTold.resolve(undefined);
  expect((await answer).status).toBe(503);
  operator.send({ type: 'recall', account: 'account-own' });
  await vi.waitFor(() => expect(operator.permitRequests).toHaveLength(3), WITHIN);
  expect(operator.permitRequests[2]).toMatchObject({ want: 0, held: [], closed: [{ block: 'b1', used: 0 }] });
});

test('an operator that has no answer is a 503, and nothing is stored', async () => {
  await using stand = await start(3);
  const answer = await exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
  expect([answer.status, headerOf(answer, 'standin-rejected'), headerOf(answer, 'retry-after')]).toEqual([
    503,
    'quota_unavailable',
    '1',
  ]);
  await stand.gateway.stop();
  expect(stand.sink.rows).toEqual([]);
});

describe('while one operator hands over to another', () => {
  const granted = { kind: 'granted', block: 'b2', period: '2099-12', permits: 10 } as const;

  test('a request that needs its first permit waits for the next leader', async () => {
    await using stand = await start(100);
    const { operator } = stand;
    operator.permits = () => granted;
    operator.leads = false;
    operator.cutStreams();
    await vi.waitFor(() => expect(operator.refusals).toBeGreaterThan(0), WITHIN);
    const answer = exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
    // The gateway has asked this operator once more, and has got no stream, while the request waits.
    const { refusals } = operator;
    await vi.waitFor(() => expect(operator.refusals).toBeGreaterThan(refusals), WITHIN);
    operator.leads = true;
    expect((await answer).status).toBe(200);
  });

  test('a request for permits that was cut is repeated at the next leader', async () => {
    await using stand = await start(100);
    const { operator } = stand;
    operator.permits = () => {
      operator.permits = () => granted;
      operator.cutConnections();
      return undefined;
    };
    const answer = await exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
    expect([answer.status, operator.permitRequests.length, operator.streamsOpened]).toEqual([200, 2, 2]);
  });

  test('without another leader, the request is refused in time', async () => {
    await using stand = await start(100);
    const { operator } = stand;
    operator.leads = false;
    operator.cutConnections();
    const began = performance.now();
    const answer = await exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]));
    expect([answer.status, headerOf(answer, 'standin-rejected')]).toEqual([503, 'quota_unavailable']);
    expect(performance.now() - began).toBeLessThan(5_000);
    // By then this is an outage, and the next request is refused immediately.
    const later = performance.now();
    expect((await exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY]))).status).toBe(503);
    expect(performance.now() - later).toBeLessThan(1_000);
  });
});
