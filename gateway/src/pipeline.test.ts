import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { LogRow } from '@standin/contract';
import { createEgress } from '@standin/egress';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NO_QUOTA, type QuotaGate } from './admit/quota-gate.ts';
import { ConfigStore } from './config/config-store.ts';
import {
  account,
  BASIC_OBJECTS,
  endpoint,
  HOST,
  oldestReceivedMs,
  PATH,
  quiet,
  request,
  serverUrl,
  testSettings,
  URI,
  WITH_KEY,
} from './gateway.testing.ts';
import { Metrics } from './observe/metrics.ts';
import { RefusalCounts } from './observe/refusal-counts.ts';
import { Pipeline } from './pipeline.ts';
import { exchange, RawClient, rejectionCode, responseHeader, type RawResponse } from './raw-client.testing.ts';
import { Receiver } from './receive/server.ts';
import type { Recorder } from './record/recorder.ts';
import type { Permit } from './request/accepted.ts';
import { Barrier } from './request/barrier.ts';
import { ByteBudget } from './request/byte-budget.ts';
import { Refusal } from './request/refusal.ts';
import { UnauthenticatedBudget } from './verify/unauthenticated-budget.ts';

/** A recorder whose results are decided by the test. */
class HeldRecorder implements Recorder {
  readonly calls: { readonly method: 'request' | 'exchange'; readonly row: LogRow; decide(isKept: boolean): void }[] =
    [];
  #onCall: () => void = () => undefined;

  isFull = false;

  admits(): boolean {
    return true;
  }

  request(row: LogRow): Promise<boolean> {
    return this.#hold('request', row);
  }

  requestBody(id: string): Promise<Uint8Array> {
    const call = this.calls.find(({ row }) => row.id === id);
    return call === undefined ? Promise.reject(new Error('not recorded')) : Promise.resolve(call.row.requestBody);
  }

  exchange(row: LogRow): Promise<boolean> {
    return this.#hold('exchange', row);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async call(index: number) {
    for (;;) {
      const call = this.calls[index];
      if (call !== undefined) return call;
      await new Promise<void>((resolve) => (this.#onCall = resolve));
    }
  }

  #hold(method: 'request' | 'exchange', row: LogRow): Promise<boolean> {
    return new Promise((resolve) => {
      this.calls.push({ method, row, decide: resolve });
      this.#onCall();
    });
  }
}

class CountingGate implements Pick<QuotaGate, 'admit' | 'use' | 'giveBack'> {
  permits = 10;
  used = 0;
  /** Requests are admitted or refused only after this promise resolves. */
  asking: Promise<void> | undefined;

  admit(): Permit | Refusal | Promise<Permit | Refusal> {
    return this.asking?.then(() => this.#decide()) ?? this.#decide();
  }

  #decide(): Permit | Refusal {
    if (this.permits === 0) return new Refusal('quota_exceeded', { headers: [['retry-after', '60']] });
    this.permits--;
    return NO_QUOTA;
  }

  use(): void {
    this.used++;
  }

  giveBack(): void {
    this.permits++;
  }
}

const CONNECTIONS_MAX = 5;
/** All requests of the tests are to one namespace, which can have half of the places, rounded up. */
const REQUESTS_MAX = 3;
const BUDGET_BYTES = 20_000;

let config: ConfigStore;
let recorder: HeldRecorder;
let gate: CountingGate;
let unsettled: Barrier;
let budget: ByteBudget;
let unauthenticated: UnauthenticatedBudget;
let pipeline: Pipeline;
let receiver: Receiver;
let url: string;
let upstreamRequests: IncomingMessage[];
const upstream = createServer((incoming, response) => {
  upstreamRequests.push(incoming);
  response.end('from upstream');
});
const egress = createEgress({ policy: { allowPrivate: true, allow: [] } });

beforeEach(async () => {
  upstreamRequests = [];
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  recorder = new HeldRecorder();
  gate = new CountingGate();
  unsettled = new Barrier();
  budget = new ByteBudget(BUDGET_BYTES);
  unauthenticated = new UnauthenticatedBudget(BUDGET_BYTES, 10);
  config = new ConfigStore({ logger: quiet, maxStalenessMs: 0 });
  config.restore({ epoch: 1, number: 1 }, [
    ...BASIC_OBJECTS,
    endpoint('/slow', { delay: { kind: 'Fixed', fixedMs: 300_000 } }),
    endpoint('/f', { kind: 'Forward', url: `${serverUrl(upstream)}/` }),
  ]);
  const settings = testSettings('/nowhere', { limits: { connections: CONNECTIONS_MAX } });
  const parts = {
    settings,
    config,
    budget,
    unauthenticated,
    gate,
    unsettled,
    recorder,
    egress,
    metrics: new Metrics(new Registry()),
    refusals: new RefusalCounts(),
    logger: quiet,
  };
  pipeline = new Pipeline(parts);
  receiver = await Receiver.listen({
    settings,
    budget,
    unauthenticated,
    onExchange: (one, target, verdict) => pipeline.handle(one, target, verdict),
    onRefused: () => undefined,
  });
  url = `http://127.0.0.1:${receiver.port}`;
});
afterEach(async () => {
  const closed = receiver.close();
  receiver.cut();
  await closed;
  upstream.closeAllConnections();
  upstream.close();
});

const post = (path: string, body = ''): string =>
  request('POST', path, [HOST, WITH_KEY, `Content-Length: ${body.length}`], body);

test('a key that is replaced while the body arrives is refused', async () => {
  const client = await RawClient.connect(url);
  client.send(request('POST', PATH, [HOST, WITH_KEY, 'Content-Length: 4', 'Expect: 100-continue']));
  // Wait until the head is authenticated and matched.
  await expect.poll(() => client.received.toString()).toContain('100 Continue');
  config.begin({ revision: '1.2', snapshot: true });
  for (const object of [...BASIC_OBJECTS, account('own', 'sk_another-key-of-the-same-account')]) config.put(object);
  config.commit('1.2');
  client.send('body');
  const [response] = await client.responses();
  expect([response?.status, rejectionCode(response)]).toEqual([401, 'api_key_invalid']);
  expect([gate.permits, budget.receivedBytes]).toEqual([10, 0]);
  client.destroy();
});

describe('a revoked key and a recalled permit', () => {
  const isPassed = async (passed: Promise<void>): Promise<boolean> => {
    const soon = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 50));
    return Promise.race([passed.then(() => true), soon]);
  };

  test.each([
    ['a mock', PATH, true],
    ['a mock that is refused', PATH, false],
    ['a forwarded request', `/${URI}/f`, true],
    ['a forwarded request that is refused', `/${URI}/f`, false],
  ])('wait until the recorder has decided about %s', async (_, path, isKept) => {
    const client = await RawClient.connect(url);
    client.send(post(path));
    const first = await recorder.call(0);
    const passed = unsettled.passed();
    // `passed` does not wait for requests that are admitted later.
    const other = await RawClient.connect(url);
    other.send(post(PATH));
    await recorder.call(1);
    expect([await isPassed(passed), gate.used, gate.permits]).toEqual([false, 0, 8]);
    first.decide(isKept);
    await passed;
    expect([gate.used, gate.permits]).toEqual(isKept ? [1, 8] : [0, 9]);
    client.destroy();
    other.destroy();
  });

  test('do not wait after the recorder has failed', async () => {
    recorder.exchange = () => Promise.reject(new Error('broken'));
    const client = await RawClient.connect(url);
    client.send(post(PATH));
    await expect.poll(() => client.isClosed).toBe(true);
    await unsettled.passed();
    expect([gate.used, gate.permits]).toEqual([0, 10]);
  });
});

test.each([
  ['asking for its permit fails', () => (gate.admit = () => Promise.reject(new Error('broken')))],
  [
    'its response cannot be chosen',
    () => {
      const paths = config.tableAt(performance.now())?.endpointPaths('project-shop');
      const broken = {
        mockFor: () => {
          throw new Error('broken');
        },
      };
      Object.assign(paths?.find('POST', '/v1/orders') ?? {}, { mock: broken });
    },
  ],
])('a request keeps neither memory nor a permit if %s', async (_, breakGateway) => {
  breakGateway();
  const client = await RawClient.connect(url);
  client.send(post(PATH, 'body'));
  await expect.poll(() => client.isClosed).toBe(true);
  await pipeline.idle();
  await unsettled.passed();
  expect([budget.receivedBytes, gate.permits, pipeline.requests.used]).toEqual([0, 10, 0]);
});

test('a signing secret that is removed while a signed request waits for its permit is not accepted', async () => {
  const tokenCredential = (secretIds: readonly string[]) =>
    ({ kind: 'Signature', signature: { scheme: 'Token', header: 'x-token' }, secretIds }) as const;
  const publish = (number: number, secretIds: readonly string[]): void => {
    const revision = `1.${number}`;
    config.begin({ revision, snapshot: number === 2 });
    for (const object of BASIC_OBJECTS) config.put(object);
    config.put(endpoint('/v1/orders', {}, { credential: tokenCredential(secretIds) }));
    config.secret('a', Buffer.from('secret'));
    config.secret('b', Buffer.from('other'));
    config.commit(revision);
  };
  const send = (token: string): Promise<RawResponse> =>
    exchange(url, request('POST', PATH, [HOST, `x-token: ${token}`, 'content-length: 4'], 'body'));
  publish(2, ['a', 'b']);
  const asking = Promise.withResolvers<undefined>();
  gate.asking = asking.promise;
  const responses = Promise.all([send('secret'), send('other')]);
  await expect.poll(() => budget.receivedBytes).toBeGreaterThan(8);
  await expect.poll(() => pipeline.running).toBe(2);
  publish(3, ['b']);
  asking.resolve(undefined);
  const call = await recorder.call(0);
  expect(call.row).toMatchObject({ credential: 'signature', keyFingerprint: '' });
  call.decide(true);
  expect((await responses).map(({ status }) => status)).toEqual([401, 200]);
  await pipeline.idle();
  expect([gate.permits, gate.used, budget.receivedBytes, recorder.calls.length]).toEqual([9, 1, 0, 1]);
});

describe('a mock', () => {
  test('is sent only after it is recorded', async () => {
    const client = await RawClient.connect(url);
    client.send(post(PATH));
    const call = await recorder.call(0);
    expect([call.method, call.row.version, client.received.length]).toEqual(['exchange', 2, 0]);
    call.decide(true);
    expect((await client.responses())[0]?.status).toBe(200);
    client.destroy();
  });

  test('that cannot be recorded is refused, and its permit is returned', async () => {
    const response = exchange(url, post(PATH, 'body'));
    (await recorder.call(0)).decide(false);
    expect([(await response).status, rejectionCode(await response)]).toEqual([503, 'log_unavailable']);
    expect(responseHeader(await response, 'retry-after')).toBe('1');
    expect([gate.permits, budget.receivedBytes]).toEqual([10, 0]);
  });

  test('without a permit is refused before anything is recorded', async () => {
    gate.permits = 0;
    const response = await exchange(url, post(PATH, 'body'));
    expect([response.status, rejectionCode(response), responseHeader(response, 'retry-after')]).toEqual([
      429,
      'quota_exceeded',
      '60',
    ]);
    expect([recorder.calls.length, budget.receivedBytes]).toEqual([0, 0]);
  });
});

test('the time until the end of a request excludes the wait for a permit', async () => {
  // The wait begins before the request arrives.
  const waitMs = 300;
  gate.asking = delay(waitMs, undefined);
  const response = exchange(url, post(PATH, 'body'));
  const call = await recorder.call(0);
  expect(call.row.durationUs - call.row.requestUs).toBeGreaterThan((waitMs / 6) * 1_000);
  call.decide(true);
  await response;
});

test('the oldest request is the one that began first, and a request begins when earlier ones on its connection let it', async () => {
  const asking = Promise.withResolvers<undefined>();
  gate.asking = asking.promise;
  const pipelined = await RawClient.connect(url);
  pipelined.send(post(PATH).repeat(2));
  await expect.poll(() => unauthenticated.used).toBeGreaterThanOrEqual(post(PATH).length);
  gate.asking = undefined;
  const bothReceivedMs = performance.now();
  const startedAtMs = Date.now() - 1;
  const other = await RawClient.connect(url);
  other.send(post(PATH));
  await recorder.call(0);
  asking.resolve(undefined);
  (await recorder.call(1)).decide(true);
  const second = await recorder.call(2);
  await expect.poll(() => pipeline.running).toBe(2);
  expect(oldestReceivedMs(pipeline)).toBeGreaterThan(bothReceivedMs);
  expect(second.row.receivedAtUs / 1_000).toBeGreaterThan(startedAtMs);
  second.decide(true);
  await expect.poll(() => pipeline.running).toBe(1);
  pipelined.destroy();
  other.destroy();
});

test('a request holds up only its own project as soon as its head has arrived', async () => {
  const client = await RawClient.connect(url);
  client.send(request('POST', PATH, [HOST, WITH_KEY, 'content-length: 4'], 'bo'));
  await expect.poll(() => oldestReceivedMs(pipeline, 'project-shop')).toBeLessThan(Infinity);
  expect(oldestReceivedMs(pipeline, 'project-theirs')).toBe(Infinity);
  client.destroy();
  await pipeline.idle();
});

test('a request is recorded before its delay, which delays no revocation, and at its end', async () => {
  const client = await RawClient.connect(url);
  client.send(post(`/${URI}/slow`));
  const call = await recorder.call(0);
  expect(oldestReceivedMs(pipeline)).toBeLessThan(Infinity);
  expect([call.method, call.row.version, call.row.status]).toEqual(['request', 1, 0]);
  call.decide(true);
  await unsettled.passed();
  // From now on, Purges wait for the record.
  await expect.poll(() => oldestReceivedMs(pipeline)).toBe(Infinity);
  expect([pipeline.running, gate.used, recorder.calls.length]).toEqual([1, 1, 1]);
  client.destroy();
  const end = await recorder.call(1);
  expect([end.method, end.row.id, end.row.version]).toEqual(['exchange', call.row.id, 2]);
  expect([end.row.outcome, end.row.status, pipeline.running]).toEqual(['caller_gone', 0, 1]);
  end.decide(true);
  await pipeline.idle();
  expect([pipeline.running, budget.receivedBytes, recorder.calls.length]).toEqual([0, 0, 2]);
});

test('a long body is read again at the end of a delay, when the namespace has memory for it', async () => {
  const body = 'x'.repeat(BUDGET_BYTES / 2 - 2_000);
  const client = await RawClient.connect(url);
  client.send(post(`/${URI}/slow`, body));
  (await recorder.call(0)).decide(true);
  await expect.poll(() => budget.receivedBytes).toBeLessThan(2_000);
  const otherBytes = BUDGET_BYTES / 2;
  budget.add('team-a', otherBytes);
  void pipeline.drain();
  await delay(150);
  expect(recorder.calls.length).toBe(1);
  budget.free('team-a', otherBytes);
  const end = await recorder.call(1);
  expect(Buffer.from(end.row.requestBody).toString()).toBe(body);
  expect(budget.receivedBytes).toBeGreaterThan(body.length);
  end.decide(true);
  expect((await client.responses())[0]?.status).toBe(200);
  await expect.poll(() => budget.receivedBytes).toBe(0);
  client.destroy();
});

test('a delayed response that cannot be recorded is not sent', async () => {
  const client = await RawClient.connect(url);
  client.send(post(`/${URI}/slow`));
  (await recorder.call(0)).decide(true);
  await expect.poll(() => gate.used).toBe(1);
  void pipeline.drain();
  const end = await recorder.call(1);
  expect([end.row.outcome, end.row.status]).toEqual(['mocked', 200]);
  end.decide(false);
  await client.closed();
  expect(client.received.length).toBe(0);
});

describe('a Forward', () => {
  test('is recorded before the upstream is called, and completely before its last byte is sent', async () => {
    const client = await RawClient.connect(url);
    client.send(post(`/${URI}/f`, 'x'));
    const first = await recorder.call(0);
    expect([first.method, first.row.version, first.row.outcome, upstreamRequests.length]).toEqual([
      'request',
      1,
      'response_unknown',
      0,
    ]);
    first.decide(true);
    const second = await recorder.call(1);
    expect([second.method, second.row.id, second.row.status]).toEqual(['exchange', first.row.id, 200]);
    expect(client.received.toString()).not.toContain('from upstream');
    second.decide(true);
    expect((await client.responses())[0]?.body.toString()).toBe('from upstream');
    client.destroy();
  });

  test('that cannot be recorded is refused, and the upstream is not called', async () => {
    const response = exchange(url, post(`/${URI}/f`));
    (await recorder.call(0)).decide(false);
    expect(rejectionCode(await response)).toBe('log_unavailable');
    expect([upstreamRequests.length, gate.permits]).toEqual([0, 10]);
  });
});

describe('the memory budget', () => {
  test('refuses a body that does not fit, whether or not its length is known', async () => {
    const known = await exchange(url, post(PATH, 'x'.repeat(BUDGET_BYTES + 1)));
    expect([known.status, rejectionCode(known)]).toEqual([503, 'overloaded']);
    const head = request('POST', PATH, [HOST, WITH_KEY, 'Transfer-Encoding: chunked']);
    const chunked = await exchange(
      url,
      `${head}${(BUDGET_BYTES + 1).toString(16)}\r\n${'x'.repeat(BUDGET_BYTES + 1)}\r\n0\r\n\r\n`,
    );
    expect([chunked.status, rejectionCode(chunked)]).toEqual([503, 'overloaded']);
    expect(budget.receivedBytes).toBe(0);
  });

  test('includes the heads of running requests until their responses end', async () => {
    const long = request('POST', PATH, [HOST, WITH_KEY, ...Array.from({ length: 80 }, (_, index) => `h${index}: v`)]);
    const first = await RawClient.connect(url);
    first.send(long);
    const held = await recorder.call(0);
    expect(budget.receivedBytes).toBeGreaterThan(5_000);
    expect(rejectionCode(await exchange(url, long))).toBe('overloaded');
    held.decide(true);
    await first.responses();
    expect(budget.receivedBytes).toBe(0);
    first.destroy();
  });

  test('limits the requests in progress', async () => {
    const clients = await Promise.all(Array.from({ length: REQUESTS_MAX }, () => RawClient.connect(url)));
    for (const client of clients) client.send(post(PATH));
    const held = await recorder.call(REQUESTS_MAX - 1);
    const refused = await exchange(url, post(PATH));
    expect(rejectionCode(refused)).toBe('overloaded');
    expect(JSON.parse(refused.body.toString())).toMatchObject({
      detail: expect.stringMatching(/share of the gateway's requests in progress\. Wait/) as string,
    });
    held.decide(true);
    for (const client of clients) client.destroy();
  });

  test('limits what is sent ahead of a response that is not sent yet', async () => {
    const asking = Promise.withResolvers<undefined>();
    gate.asking = asking.promise;
    const some = await RawClient.connect(url);
    some.send(post('/unknown').repeat(50) + post(PATH) + post('/unknown').repeat(20));
    await expect.poll(() => unauthenticated.used).toBeGreaterThanOrEqual(20 * post('/unknown').length);
    const many = await RawClient.connect(url);
    many.send(post(PATH) + 'x'.repeat(BUDGET_BYTES));
    await expect.poll(() => many.isClosed).toBe(true);
    asking.resolve(undefined);
    (await recorder.call(0)).decide(true);
    expect(await some.responses(71)).toHaveLength(71);
    some.destroy();
    many.destroy();
    await expect.poll(() => unauthenticated.used).toBe(0);
  });

  test('cuts no connection for a few bytes, and keeps none of the line breaks after a body', async () => {
    const client = await RawClient.connect(url);
    client.send(post(PATH));
    (await recorder.call(0)).decide(true);
    await client.responses();
    budget.add('', BUDGET_BYTES);
    budget.free('', BUDGET_BYTES - 10_000);
    client.send(post(PATH));
    const held = await recorder.call(1);
    budget.add('', 8_000);
    client.send('\r\n\r\n'.repeat(1_000));
    client.send(post(PATH));
    await expect.poll(() => budget.receivedBytes).toBeGreaterThan(0);
    held.decide(true);
    budget.free('', 18_000);
    (await recorder.call(2)).decide(true);
    expect((await client.responses(3)).map(({ status }) => status)).toEqual([200, 200, 200]);
    client.destroy();
  });

  test('gives a place back before the next request of the connection begins', async () => {
    const client = await RawClient.connect(url);
    const count = 9;
    client.send(post(PATH).repeat(count));
    for (let index = 0; index < count; index++) (await recorder.call(index)).decide(true);
    expect((await client.responses(count)).map(({ status }) => status)).toEqual(Array(count).fill(200));
    client.destroy();
  });

  test('one connection has one request in each turn of the event loop', async () => {
    const client = await RawClient.connect(url);
    client.send(post('/unknown').repeat(100));
    let turns = 0;
    const count = () => {
      turns += 1;
      if (!client.isClosed) setImmediate(count);
    };
    setImmediate(count);
    await client.responses(100);
    client.destroy();
    expect(turns).toBeGreaterThanOrEqual(100);
  });

  test('refuses requests as log_unavailable if undelivered rows use it up', async () => {
    budget.addRow(BUDGET_BYTES - 1);
    expect(rejectionCode(await exchange(url, post(PATH, 'body')))).toBe('log_unavailable');
  });
});

test('while the disk does not respond, a used-up share is reported as log_unavailable', async () => {
  const clients = await Promise.all(
    Array.from({ length: Math.ceil(CONNECTIONS_MAX / 2) }, () => RawClient.connect(url)),
  );
  for (const client of clients) client.send(post(PATH));
  await recorder.call(clients.length - 1);
  const refused = async () => rejectionCode(await exchange(url, post(PATH)));
  expect(await refused()).toBe('overloaded');
  recorder.isFull = true;
  expect(await refused()).toBe('log_unavailable');
  for (const call of recorder.calls) call.decide(true);
  for (const client of clients) client.destroy();
});

test('a request without an active configuration is refused as not_ready', async () => {
  const settings = testSettings('/nowhere');
  const config = new ConfigStore({ logger: quiet, maxStalenessMs: 0 });
  const pipeline = new Pipeline({
    settings,
    config,
    budget,
    unauthenticated,
    gate,
    unsettled,
    recorder,
    egress,
    metrics: new Metrics(new Registry()),
    refusals: new RefusalCounts(),
    logger: quiet,
  });
  const empty = await Receiver.listen({
    settings,
    budget,
    unauthenticated,
    onExchange: (one, target, verdict) => pipeline.handle(one, target, verdict),
    onRefused: () => undefined,
  });
  const response = await exchange(`http://127.0.0.1:${empty.port}`, post(PATH));
  expect([response.status, rejectionCode(response)]).toEqual([503, 'not_ready']);
  const closed = empty.close();
  empty.cut();
  await closed;
});
