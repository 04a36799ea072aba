import { existsSync } from 'node:fs';
import { link, mkdir, mkdtemp, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LogStoreError } from '@standin/logstore';
import { CONFIG_FEATURES, LIMITS, type Ack, type ConfigObject, type EndpointConfig } from '@standin/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MemorySink } from '../deliver/memory-sink.testing.ts';
import { runGateway, type Gateway } from '../gateway.ts';
import {
  account,
  BASIC_OBJECTS,
  endpoint,
  fetchMetrics,
  HOST,
  KEY,
  OTHER_KEY,
  PATH,
  project,
  quiet,
  request,
  sha256,
  testSettings,
  URI,
  WITH_KEY,
  writeCertificates,
} from '../gateway.testing.ts';
import { exchange, rejectionCode } from '../raw-client.testing.ts';
import { nodeDisk, type SpoolDisk } from '../record/spool/spool-disk.ts';
import { FaultyDisk } from '../record/spool/spool.testing.ts';
import { FakeOperator } from './fake-operator.testing.ts';
import { makeStreamCertificates, type StreamCertificates } from './stream-certificates.testing.ts';

const OWN_NEXT_KEY = 'sk_next_0123456789abcdef0123456789';

let dir: string;
let certificates: StreamCertificates;
let operator: FakeOperator;
const cleanups: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'standin-config-'));
  certificates = await makeStreamCertificates();
  await writeCertificates(join(dir, 'tls'), certificates);
  operator = await FakeOperator.listen(certificates);
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await operator.close();
  await rm(dir, { recursive: true, force: true });
});

const start = async (
  more: Record<string, unknown> = {},
  spoolDisk: SpoolDisk = nodeDisk,
  logSink = new MemorySink(),
): Promise<Gateway> => {
  const settings = testSettings(dir, { name: 'gateway-0', operator: { urls: [operator.url] }, ...more });
  const gateway = await runGateway({ settings, logger: quiet, logSink, spoolDisk });
  cleanups.push(() => gateway.stop());
  return gateway;
};
const startWith = async (objects: readonly ConfigObject[] = BASIC_OBJECTS): Promise<Gateway> => {
  const gateway = await start();
  await operator.acked(operator.revision);
  await operator.publish(objects);
  return gateway;
};
const ask = (gateway: Gateway, path = PATH, lines = [HOST, WITH_KEY]) =>
  exchange(gateway.url, request('POST', path, lines));
const askStatus = async (gateway: Gateway, path = PATH, key = KEY): Promise<number> =>
  (await ask(gateway, path, [HOST, `x-api-key: ${key}`])).status;
const readiness = async (gateway: Gateway): Promise<number> => (await fetch(`${gateway.adminUrl}/readyz`)).status;
const until = async (condition: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await condition())) await delay(20);
};
const copyPath = (): string => join(dir, 'data', 'config.ndjson');
const copyHasKey = async (): Promise<boolean> => (await readFile(copyPath(), 'utf8')).includes(sha256(KEY));
/** Ends the gateway like a kill does, leaving the copy on disk. */
const crash = async (gateway: Gateway): Promise<void> => {
  await until(copyHasKey);
  const kept = `${copyPath()}.kept`;
  await link(copyPath(), kept);
  await gateway.stop();
  await rename(kept, copyPath());
};
const body = (text: string): Partial<EndpointConfig['action']> => ({ kind: 'JSON', body: text });

describe('a transaction', () => {
  test('takes effect as a whole and is acknowledged', async () => {
    const gateway = await start();
    await operator.acked(operator.revision);
    expect(await askStatus(gateway)).toBe(401);
    const ack = await operator.publish(BASIC_OBJECTS);
    expect(ack).toMatchObject({ gateway: 'gateway-0', revision: operator.revision, rejected: [] });
    expect(await askStatus(gateway)).toBe(200);
    expect(await readiness(gateway)).toBe(200);
  });

  test('changes and removes single objects', async () => {
    const gateway = await startWith();
    await operator.publish([endpoint('/v1/orders', body('"new"')), endpoint('/v2', {})]);
    expect((await ask(gateway)).body.toString()).toBe('"new"');
    expect(await askStatus(gateway, `/${URI}/v2`)).toBe(200);
    await operator.publish([], ['Endpoint/endpoint-post-v1-orders']);
    expect([await askStatus(gateway), await askStatus(gateway, `/${URI}/v2`)]).toEqual([404, 200]);
  });

  test('moves a path from one endpoint to another, regardless of the order of the changes', async () => {
    const gateway = await startWith();
    const successor = { ...endpoint('/v1/orders', body('"successor"')), uid: 'endpoint-successor' };
    await operator.publish([successor], ['Endpoint/endpoint-post-v1-orders']);
    expect((await ask(gateway)).body.toString()).toBe('"successor"');
  });

  test('replaces a key, and only the new key is accepted after the acknowledgement', async () => {
    const gateway = await startWith();
    await operator.publish([account('own', OWN_NEXT_KEY)]);
    expect([await askStatus(gateway), await askStatus(gateway, PATH, OWN_NEXT_KEY)]).toEqual([401, 200]);
    // The copy on disk no longer contains the old key either.
    expect(await readFile(copyPath(), 'utf8')).not.toContain(account('own', KEY).keySha256);
  });

  test('uses a certificate whose expiry is a metric', async () => {
    const gateway = await start();
    const [, seconds] =
      /^standin_stream_certificate_expiry_timestamp_seconds (\S+)$/m.exec(await fetchMetrics(gateway)) ?? [];
    // The certificates of the tests are valid for an hour.
    const minutesLeft = (Number(seconds) * 1_000 - Date.now()) / 60_000;
    expect(minutesLeft).toBeGreaterThan(30);
    expect(minutesLeft).toBeLessThanOrEqual(60);
  });

  test('that revokes a key is acknowledged when every request with that key is recorded', async () => {
    const disk = new FaultyDisk();
    const gateway = await start({}, disk);
    await operator.publish(BASIC_OBJECTS);
    const [begun, writing] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    disk.onAppend = () => {
      begun.resolve(undefined);
      return writing.promise;
    };
    const first = askStatus(gateway);
    await begun.promise;
    const second = askStatus(gateway);
    await until(async () => (await fetchMetrics(gateway)).includes('standin_receive_running_requests 2'));
    const acked = operator.publish([account('own', OWN_NEXT_KEY)]);
    await until(async () => (await askStatus(gateway)) === 401);
    await delay(300);
    const { revision } = operator;
    expect(operator.acks.filter((ack) => ack.revision === revision)).toEqual([]);
    writing.resolve(undefined);
    expect([await first, await second]).toEqual([200, 200]);
    await acked;
  });

  test('that is not committed has no effect', async () => {
    const gateway = await startWith();
    operator.send(
      { type: 'begin', revision: '1.9', snapshot: false },
      { type: 'remove', key: 'Endpoint/endpoint-post-v1-orders' },
    );
    operator.send({ type: 'heartbeat', revision: '1.9', sentMs: 0 });
    await delay(50);
    expect(await askStatus(gateway)).toBe(200);
    operator.cutStreams();
    await until(() => operator.streamCount === 1);
    expect(await askStatus(gateway)).toBe(200);
  });
});

describe('an object that this gateway cannot serve', () => {
  const bad = endpoint('/v1/orders', { kind: 'JSON', headers: [['bad name', 'x']] });

  test('keeps its last valid version, and is named in every acknowledgement until it is valid', async () => {
    const gateway = await startWith();
    const key = 'Endpoint/endpoint-post-v1-orders';
    const rejected = [[key, 'Header name must be a valid HTTP token ["bad name"]']];
    const rejectedIn = (ack: Ack) => ack.rejected.map((one) => [one.key, one.message]);
    expect(rejectedIn(await operator.publish([bad]))).toEqual(rejected);
    expect(await askStatus(gateway)).toBe(200);
    expect(rejectedIn(await operator.publish([endpoint('/other')]))).toEqual(rejected);
    expect((await operator.publish([endpoint('/v1/orders', body('"good"'))])).rejected).toEqual([]);
    expect((await ask(gateway)).body.toString()).toBe('"good"');
  });

  test.each([
    ['a status below 200', { kind: 'JSON', status: 101 }],
    ['a status above 599', { kind: 'JSON', status: 600 }],
    ['a line break in a header', { kind: 'JSON', headers: [['a', 'b\r\nc: d']] }],
    ['a Content-Length header', { kind: 'JSON', headers: [['Content-Length', '1']] }],
    ['a Standin-Rejected header', { kind: 'JSON', headers: [['Standin-Rejected', 'x']] }],
    ['an upstream that is not a URL', { kind: 'Forward', url: 'nowhere' }],
    ['an upstream that is not HTTP', { kind: 'Forward', url: 'file:///etc/passwd' }],
  ] as const)('is rejected because of %s', async (_name, action) => {
    const gateway = await startWith();
    const { rejected } = await operator.publish([endpoint('/bad', action)]);
    expect(rejected.map(({ key }) => key)).toEqual(['Endpoint/endpoint-post-bad']);
    expect([await askStatus(gateway, `/${URI}/bad`), await askStatus(gateway)]).toEqual([404, 200]);
  });

  test('is rejected individually if it comes from a newer operator', async () => {
    const gateway = await startWith();
    const revision = '1.9';
    operator.send(
      { type: 'begin', revision, snapshot: false },
      { type: 'put', object: { ...endpoint('/future'), telepathy: true } },
      { type: 'put', object: endpoint('/present') },
      { type: 'commit', revision },
    );
    expect((await operator.acked(revision)).rejected.map(({ key }) => key)).toEqual(['Endpoint/endpoint-post-future']);
    expect(await askStatus(gateway, `/${URI}/present`)).toBe(200);
  });
});

describe('an endpoint that only a newer gateway can serve', () => {
  const WITHHELD: EndpointConfig = { ...endpoint('/v1/{id}'), action: { kind: 'Withheld' } };
  test('is answered with 503, even if an earlier version of the endpoint was served', async () => {
    const gateway = await startWith();
    expect(operator.query.get('features')).toBe(Object.keys(CONFIG_FEATURES).join());
    await operator.publish([endpoint('/v1/{id}')]);
    expect(await askStatus(gateway, `/${URI}/v1/a`)).toBe(200);
    expect((await operator.publish([WITHHELD])).rejected).toEqual([]);
    expect([rejectionCode(await ask(gateway, `/${URI}/v1/a`)), await askStatus(gateway)]).toEqual(['not_ready', 200]);
  });

  test('is answered with 503 after a rollback to this version, from the copy on disk', async () => {
    await crash(await startWith([...BASIC_OBJECTS, endpoint('/a'), endpoint('/v1/{id}')]));
    await operator.close();
    const copy = (await readFile(copyPath(), 'utf8')).replace('"slug":"/a"', '"telepathy":true,"slug":"/a"');
    await writeFile(copyPath(), copy);
    const second = await start();
    await until(async () => (await readiness(second)) === 200);
    expect([rejectionCode(await ask(second, `/${URI}/a`)), await askStatus(second, `/${URI}/v1/b`)]).toEqual([
      'not_ready',
      200,
    ]);
    operator = await FakeOperator.listen(certificates, operator.port);
  });
});

describe('the operator', () => {
  test('can restart without interrupting traffic, and its snapshot replaces everything', async () => {
    const gateway = await startWith();
    const { port } = operator;
    await operator.close();
    expect([await askStatus(gateway), await readiness(gateway)]).toEqual([200, 200]);
    operator = await FakeOperator.listen(certificates, port);
    operator.epoch = 2;
    await operator.acked(operator.revision);
    expect(await askStatus(gateway)).toBe(401);
  });

  test('names the leader if it is not leading itself', async () => {
    const leader = await FakeOperator.listen(certificates);
    cleanups.push(() => leader.close());
    operator.leads = false;
    operator.leaderUrl = leader.url;
    const gateway = await start();
    await leader.acked(leader.revision);
    await leader.publish(BASIC_OBJECTS);
    expect(await askStatus(gateway)).toBe(200);
  });

  test('from an older epoch is ignored', async () => {
    const gateway = await startWith();
    const { port } = operator;
    await operator.close();
    operator = await FakeOperator.listen(certificates, port);
    operator.epoch = 0;
    await until(() => operator.streamsOpened > 1);
    expect([await askStatus(gateway), operator.acks]).toEqual([200, []]);
  });

  test('with a certificate from a different CA is not trusted', async () => {
    await operator.close();
    operator = await FakeOperator.listen(await makeStreamCertificates());
    const gateway = await start();
    await delay(300);
    expect([await readiness(gateway), operator.streamsOpened]).toEqual([503, 0]);
    // The CA file is replaced while the gateway runs, and the gateway reads it again.
    const { port } = operator;
    await operator.close();
    certificates = await makeStreamCertificates();
    await writeCertificates(join(dir, 'tls'), certificates);
    operator = await FakeOperator.listen(certificates, port);
    await until(async () => (await readiness(gateway)) === 200);
  });

  test('is disconnected after an invalid message and tried again later', async () => {
    const gateway = await startWith();
    operator.send({ type: 'commit', revision: '1.7' });
    await until(() => operator.streamCount === 0);
    await until(() => operator.streamCount === 1);
    await operator.publish([endpoint('/after')]);
    expect(await askStatus(gateway, `/${URI}/after`)).toBe(200);
  });

  test('receives a goodbye message on shutdown', async () => {
    const gateway = await startWith();
    await gateway.stop();
    expect(operator.goodbyes).toEqual([expect.stringMatching(/^\/v1\/gateways\/gateway-0 [0-9a-f-]{36}$/)]);
  });

  test('learns from the goodbye message that requests remain on the disk', async () => {
    const sink = new MemorySink();
    sink.onInsert = () => {
      throw new LogStoreError('unavailable', { kind: 'retryable', code: '1' });
    };
    const gateway = await start({ drainTimeoutMs: 100 }, nodeDisk, sink);
    await operator.acked(operator.revision);
    await operator.publish(BASIC_OBJECTS);
    expect(await askStatus(gateway)).toBe(200);
    await gateway.stop();
    expect(operator.goodbyes).toEqual([expect.stringMatching(/ with undelivered requests$/)]);
  });
});

test('permit requests of one namespace do not keep those of another one waiting', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `flood-${index}`);
  const keyFor = (name: string): string => `standin_${name}-0123456789012345678901234567`;
  const gateway = await startWith([
    ...BASIC_OBJECTS.slice(1),
    { ...account('own', KEY), quota: 5 },
    ...names.flatMap((name): ConfigObject[] => [
      { ...account(name, keyFor(name)), namespace: 'flood', quota: 5 },
      { ...project(name, `${name}-0123456789012345`, name), namespace: 'flood' },
      endpoint('/flood', {}, { uid: `endpoint-${name}`, namespace: 'flood', projectUid: `project-${name}` }),
    ]),
  ]);
  const period = new Date().toISOString().slice(0, 7);
  operator.permits = ({ account: uid }) =>
    uid === 'account-own' ? { kind: 'exhausted', period, limit: 5, used: 5 } : new Promise<undefined>(() => undefined);
  const flood = names.map((name) => askStatus(gateway, `/${name}-0123456789012345/flood`, keyFor(name)));
  await until(() => operator.permitRequests.length >= 5);
  const startedAt = performance.now();
  expect(await askStatus(gateway)).toBe(429);
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  expect(new Set(await Promise.all(flood))).toEqual(new Set([503]));
});

describe('the copy on disk', () => {
  test('starts a killed gateway if no operator responds, and only its owner can read it', async () => {
    await crash(await startWith());
    expect((await stat(copyPath())).mode & 0o777).toBe(0o600);
    await operator.close();
    const second = await start();
    await until(async () => (await readiness(second)) === 200);
    expect(await askStatus(second)).toBe(200);
    expect(await fetchMetrics(second)).toMatch(/standin_config_revision_info\{revision="1\.1",source="disk"\} 1/);
    operator = await FakeOperator.listen(certificates, operator.port);
    await operator.acked(operator.revision);
    expect(await askStatus(second)).toBe(401);
  });

  test('contains the rate limits of accounts', async () => {
    await crash(await startWith([{ ...account('own', KEY), requestsPerSecond: 1 }, ...BASIC_OBJECTS.slice(1)]));
    await operator.close();
    const second = await start();
    await until(async () => (await readiness(second)) === 200);
    expect([await askStatus(second), await askStatus(second)]).toEqual([200, 429]);
    operator = await FakeOperator.listen(certificates, operator.port);
  });

  test('is deleted before the goodbye message, so a forgotten gateway cannot return with a revoked key', async () => {
    const gateway = await startWith();
    await until(copyHasKey);
    let existsAtGoodbye = true;
    operator.onGoodbye = () => (existsAtGoodbye = existsSync(copyPath()));
    await gateway.stop();
    expect([operator.goodbyes.length, existsAtGoodbye, existsSync(copyPath())]).toEqual([1, false, false]);
    await operator.close();
    const second = await start();
    await delay(300);
    expect([await readiness(second), await askStatus(second)]).toEqual([503, 503]);
    operator = await FakeOperator.listen(certificates, operator.port);
  });

  test('prevents the goodbye message if it cannot be removed, so the operator waits', async () => {
    const gateway = await startWith();
    await rm(copyPath(), { force: true });
    await mkdir(copyPath());
    await gateway.stop();
    expect(operator.goodbyes).toEqual([]);
  });

  test('is not used during a leader election, because only a leader grants permits', async () => {
    await crash(await startWith());
    operator.leads = false;
    const { refusals } = operator;
    const second = await start();
    // Without a response from any operator, the gateway would have used the copy by now.
    await until(() => operator.refusals >= refusals + 3);
    expect(await readiness(second)).toBe(503);
    operator.leads = true;
    await until(async () => (await readiness(second)) === 200);
    expect(await fetchMetrics(second)).toContain('source="stream"');
  });

  test('with a revoked key is removed before the acknowledgement if it cannot be replaced', async () => {
    await startWith();
    await until(copyHasKey);
    const path = copyPath();
    // A folder with the name of the next temporary file prevents the gateway from writing a new copy.
    await mkdir(join(dirname(path), `.${basename(path)}.${process.pid}-0.tmp`));
    await operator.publish([account('own', OWN_NEXT_KEY)]);
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  test('delays the acknowledgement if it can be neither replaced nor removed', async () => {
    const gateway = await startWith();
    const path = copyPath();
    // A folder at this path can be neither replaced nor removed, like a file on a read-only disk.
    await rm(path, { force: true });
    await mkdir(path);
    const acked = operator.publish([account('own', OWN_NEXT_KEY)]);
    await until(async () => (await askStatus(gateway)) === 401);
    const { revision } = operator;
    await delay(300);
    expect(operator.acks.filter((ack) => ack.revision === revision)).toEqual([]);
    await rmdir(path);
    await acked;
    expect(await readFile(path, 'utf8')).toContain(sha256(OWN_NEXT_KEY));
  });

  test('loses a key that was revoked by a stream that ended before the acknowledgement', async () => {
    const gateway = await startWith();
    await until(copyHasKey);
    operator.respondsToAcks = false;
    await operator.publish([endpoint('/another')]);
    const acked = operator.publish([account('own', OWN_NEXT_KEY)]);
    await until(async () => (await askStatus(gateway)) === 401);
    operator.respondsToAcks = true;
    operator.cutStreams();
    await acked;
    expect(await readFile(copyPath(), 'utf8')).not.toContain(sha256(KEY));
  });

  test('from an earlier process is replaced before anything is acknowledged', async () => {
    const path = copyPath();
    await mkdir(join(dir, 'data'));
    await writeFile(path, JSON.stringify(account('own', KEY)));
    await start();
    await operator.acked(operator.revision);
    expect(await readFile(path, 'utf8')).not.toContain(sha256(KEY));
  });

  test.each([
    ['truncated in the middle', (text: string) => text.slice(0, text.length / 2)],
    ['missing its end', (text: string) => text.split('\n').slice(0, -2).join('\n')],
    ['empty', () => ''],
  ])('is not used if it is %s', async (_name, spoil) => {
    await crash(await startWith());
    const path = copyPath();
    await writeFile(path, spoil(await readFile(path, 'utf8')));
    await operator.close();
    const second = await start();
    await delay(300);
    expect([await readiness(second), rejectionCode(await ask(second))]).toEqual([503, 'not_ready']);
    operator = await FakeOperator.listen(certificates, operator.port);
  });
});

describe('with maxStalenessMs', () => {
  const STALE_MS = LIMITS.maxStalenessMsMin;

  test(
    'a gateway reports its limit to the operator, and becomes unready and rejects requests when no messages arrive',
    { timeout: 20_000 },
    async () => {
      const gateway = await start({ maxStalenessMs: STALE_MS });
      await operator.acked(operator.revision);
      expect(operator.query.get('maxStalenessMs')).toBe(String(STALE_MS));
      await operator.publish([...BASIC_OBJECTS, account('other', OTHER_KEY)]);
      await until(async () => (await askStatus(gateway)) === 200);
      await until(async () => (await readiness(gateway)) === 503);
      expect(rejectionCode(await ask(gateway))).toBe('not_ready');
      operator.send({ type: 'heartbeat', revision: operator.revision, sentMs: 0 });
      await until(async () => (await readiness(gateway)) === 200);
      expect(await askStatus(gateway)).toBe(200);
    },
  );

  test('an acknowledgement has the time of the last heartbeat, after which the gateway found out what is undelivered', async () => {
    await start({ maxStalenessMs: STALE_MS });
    await operator.acked(operator.revision);
    expect(operator.acks.at(-1)?.heartbeatMs).toBeUndefined();
    operator.send({ type: 'heartbeat', revision: operator.revision, sentMs: 4_200 });
    await until(() => operator.acks.at(-1)?.heartbeatMs === 4_200);
    await operator.publish(BASIC_OBJECTS);
    await operator.acked(operator.revision);
    expect(operator.acks.at(-1)?.heartbeatMs).toBe(4_200);
  });

  test('heartbeats count only if the operator responds to their acknowledgements', { timeout: 20_000 }, async () => {
    const gateway = await start({ maxStalenessMs: STALE_MS });
    await operator.acked(operator.revision);
    await operator.publish(BASIC_OBJECTS);
    await until(async () => (await askStatus(gateway)) === 200);
    operator.respondsToAcks = false;
    const heartbeats = setInterval(
      () => operator.send({ type: 'heartbeat', revision: operator.revision, sentMs: 0 }),
      LIMITS.streamHeartbeatMs / 10,
    );
    await until(async () => (await readiness(gateway)) === 503);
    expect(rejectionCode(await ask(gateway))).toBe('not_ready');
    clearInterval(heartbeats);
  });

  test('a copy on disk does not count as contact with the operator', async () => {
    await crash(await startWith());
    await operator.close();
    const second = await start({ maxStalenessMs: STALE_MS });
    await until(async () => (await fetchMetrics(second)).includes('source="disk"'));
    expect([await readiness(second), await askStatus(second)]).toEqual([503, 503]);
    operator = await FakeOperator.listen(certificates, operator.port);
  });

  test('a value below the minimum is rejected at startup', () => {
    expect(() => testSettings(dir, { maxStalenessMs: STALE_MS - 1 })).toThrow('must be 0 or at least 3000');
  });
});
