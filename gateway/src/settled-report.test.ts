import { setTimeout as delay } from 'node:timers/promises';
import type { SettledProject } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  HOST,
  OTHER_KEY,
  PATH,
  request,
  startTestGateway,
  WITH_KEY,
  type TestGateway,
} from './gateway.testing.ts';
import { exchange, RawClient } from './raw-client.testing.ts';

const SHOP = 'project-shop';
const THEIRS = 'project-theirs';
const THEIR_PATH = '/theirs0123456789/slow';
const WITH_OTHER_KEY = `x-api-key: ${OTHER_KEY}`;

let stand: TestGateway;
beforeEach(async () => {
  const slow = endpoint('/slow', { delay: { kind: 'Fixed', fixedMs: 60_000 } }, { projectUid: THEIRS, method: 'GET' });
  stand = await startTestGateway({ objects: [...BASIC_OBJECTS, slow] });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await stand[Symbol.asyncDispose]();
});

const clients: RawClient[] = [];
const connect = async (): Promise<RawClient> => {
  const client = await RawClient.connect(stand.gateway.url);
  clients.push(client);
  return client;
};

let asks = 0;
/** Asks the gateway about projects. Returns the reports that have arrived so far. */
const ask = (...projects: readonly string[]): (() => readonly SettledProject[]) => {
  const { operator } = stand;
  asks += 1;
  const id = `ask-${asks}`;
  operator.send({ type: 'settle', ask: id, projects });
  return () => operator.settledReports.flatMap(({ settled }) => settled.filter((one) => one.ask === id));
};
const askUntilSettled = async (project: string): Promise<SettledProject & { readonly askedUs: number }> => {
  const askedUs = Date.now() * 1_000;
  const reports = ask(project);
  const [settled] = await vi.waitUntil(() => (reports().length > 0 ? reports() : undefined), 10_000);
  return { ...(settled as SettledProject), askedUs };
};
const call = async (body = ''): Promise<number> =>
  (await exchange(stand.gateway.url, request('POST', PATH, [HOST, WITH_KEY, `Content-Length: ${body.length}`], body)))
    .status;
const bodies = (): readonly string[] => stand.sink.rows.map((row) => Buffer.from(row.requestBody).toString());

test('a project is reported when the log has all requests that were accepted before the question', async () => {
  for (let round = 1; round <= 5; round++) {
    const sent = Array.from({ length: 10 }, (_, n) => `${round}-${n}`);
    expect(await Promise.all(sent.map(call))).toEqual(sent.map(() => 200));
    const { project, hasQuarantine } = await askUntilSettled(SHOP);
    expect([project, hasQuarantine]).toEqual([SHOP, false]);
    expect(bodies()).toEqual(expect.arrayContaining(sent));
  }
});

test('while ClickHouse does not respond, no project is reported', async () => {
  const { promise: works, resolve } = Promise.withResolvers<undefined>();
  stand.sink.onInsert = () => works;
  await call('one');
  const reports = ask(SHOP, THEIRS);
  await delay(600);
  expect(reports()).toEqual([]);
  resolve(undefined);
  await vi.waitFor(() =>
    expect(
      reports()
        .map(({ project }) => project)
        .sort(),
    ).toEqual([SHOP, THEIRS]),
  );
});

test('requests that were accepted after the question do not delay its answer', async () => {
  await call('before');
  const reports = ask(SHOP);
  let isStopped = false;
  const load = async (): Promise<void> => {
    while (!isStopped) await call('after');
  };
  const loading = load();
  await vi.waitFor(() => expect(reports()).toHaveLength(1), 2_000);
  isStopped = true;
  await loading;
});

test('a request in progress holds up its own project until the log shows it, and no other one', async () => {
  await call('one');
  const client = await connect();
  client.send(request('GET', THEIR_PATH, [HOST, WITH_OTHER_KEY]));
  await stand.gateway.nextRecord(AbortSignal.timeout(2_000));
  const startedMs = performance.now();
  const settled = await askUntilSettled(SHOP);
  expect(performance.now() - startedMs).toBeLessThan(1_000);
  expect(stand.sink.rows.map(({ projectUid }) => projectUid)).not.toContain(THEIRS);
  expect(settled.untilUs).toBeGreaterThan(settled.askedUs - 10_000);
  await askUntilSettled(THEIRS);
  // 1.8 s, and what a busy machine adds.
  expect(performance.now() - startedMs).toBeLessThan(4_000);
  expect(stand.sink.rows.find(({ projectUid }) => projectUid === THEIRS)).toMatchObject({ outcome: 'in_progress' });
  // It stays in progress, and no longer holds up anything.
  const laterMs = performance.now();
  await askUntilSettled(THEIRS);
  expect(performance.now() - laterMs).toBeLessThan(500);
});

test('a request that is still arriving is not accepted, so only the time is earlier', async () => {
  const client = await connect();
  const sentUs = Date.now() * 1_000;
  client.send(request('POST', PATH, [HOST, WITH_KEY, 'Content-Length: 2'], 'a'));
  await delay(200);
  const arriving = await askUntilSettled(SHOP);
  expect(arriving.untilUs).toBeLessThan(arriving.askedUs - 100_000);
  expect(arriving.untilUs).toBeGreaterThan(sentUs - 50_000);
  const other = await askUntilSettled(THEIRS);
  expect(other.untilUs).toBeGreaterThan(other.askedUs - 10_000);
  client.send('b');
  await vi.waitFor(async () => {
    const { askedUs, untilUs } = await askUntilSettled(SHOP);
    expect(askedUs - untilUs).toBeLessThan(10_000);
  });
  expect(stand.sink.rows.map(({ receivedAtUs }) => receivedAtUs >= arriving.untilUs)).toEqual([true]);
});

test('a clock that is set forward does not hide a request that is still arriving', async () => {
  const client = await connect();
  client.send(request('POST', PATH, [HOST, WITH_KEY, 'Content-Length: 2'], 'a'));
  await delay(100);
  const real = Date.now;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + 500);
  try {
    const { untilUs } = await askUntilSettled(SHOP);
    client.send('b');
    await vi.waitFor(() => expect(stand.sink.rows).toHaveLength(1), 5_000);
    expect(stand.sink.rows.map(({ receivedAtUs }) => receivedAtUs >= untilUs)).toEqual([true]);
  } finally {
    clock.mockRestore();
  }
});

test('a row in quarantine is reported for its project only', async () => {
  stand.sink.onInsert = () => {
    throw new LogStoreError('refused', { kind: 'permanent', code: '1' });
  };
  await call('bad');
  expect(await askUntilSettled(SHOP)).toMatchObject({ hasQuarantine: true });
  expect(await askUntilSettled(THEIRS)).toMatchObject({ hasQuarantine: false });
});

test('within the process, an accepted request is delivered without a wait for others', async () => {
  const never = new AbortController().signal;
  await call('first');
  const startedMs = performance.now();
  expect(await stand.gateway.settle(SHOP, never)).toMatchObject({ project: SHOP, hasQuarantine: false });
  expect(bodies()).toEqual(['first']);
  expect(performance.now() - startedMs).toBeLessThan(200);
});

describe('within the process, the rows that may not be in the log', () => {
  const recent = async (): Promise<unknown> =>
    (await stand.gateway.recent())?.map(({ projectUid, requestBody, version }) => [
      projectUid,
      Buffer.from(requestBody).toString(),
      version,
    ]);

  test('are read before and during their delivery', async () => {
    const { promise: works, resolve } = Promise.withResolvers<undefined>();
    stand.sink.onInsert = () => works;
    const accepted = stand.gateway.nextRecord(AbortSignal.timeout(2_000));
    await call('one');
    await accepted;
    expect(await recent()).toEqual([[SHOP, 'one', 2]]);
    await vi.waitFor(() => expect(stand.sink.attempts).toHaveLength(1));
    await call('two');
    expect(await recent()).toEqual([
      [SHOP, 'one', 2],
      [SHOP, 'two', 2],
    ]);
    resolve(undefined);
    await vi.waitFor(async () => expect(await recent()).toEqual([]));
    expect(bodies()).toEqual(['one', 'two']);
  });

  test('include requests in progress until the log shows them', async () => {
    const client = await connect();
    client.send(request('GET', THEIR_PATH, [HOST, WITH_OTHER_KEY]));
    await stand.gateway.nextRecord(AbortSignal.timeout(2_000));
    expect(await recent()).toEqual([[THEIRS, '', 0]]);
    await delay(700);
    expect(await recent()).toEqual([[THEIRS, '', 0]]);
    await vi.waitFor(async () => expect(await recent()).toEqual([]), 5_000);
    expect(stand.sink.rows).toMatchObject([{ outcome: 'in_progress' }]);
  });

  test('are not known while there are files in quarantine', async () => {
    stand.sink.onInsert = () => {
      throw new LogStoreError('refused', { kind: 'permanent', code: '1' });
    };
    await call('bad');
    await vi.waitFor(async () => expect(await recent()).toBeUndefined());
  });

  test('are not awaited by a reader that leaves', async () => {
    const leaving = new AbortController();
    const left = stand.gateway.nextRecord(leaving.signal);
    leaving.abort();
    await expect(left).rejects.toBe(leaving.signal.reason);
  });
});
