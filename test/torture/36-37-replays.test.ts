import { writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ReplayStatus } from '@standin/crds';
import type { LogEntry } from '@standin/exchange';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DevReplay } from '../e2e/dev-replays.ts';
import { call, endpoint, mock, readLog, startDev, type DevRun } from '../e2e/dev-stand.ts';
import { eventually } from '../harness/eventually.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/**
 * Torture tests 36 and 37 with replays: a Replay can name any URL, and the operator that sends it runs inside the cluster's
 * network.
 */

const DOUBLE = pathToFileURL(path.join(import.meta.dirname, 'dns-double.ts')).href;

let secret: Upstream;
beforeAll(async () => {
  // Every response closes its connection, so that the name is looked up again for each request, as if its TTL were 0.
  secret = await startUpstream((socket, { target }) => {
    const redirect = target.startsWith('/redirect')
      ? '302 Found\r\nlocation: http://169.254.169.254/latest/'
      : '200 OK';
    socket.end(`HTTP/1.1 ${redirect}\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok`);
  });
});
afterAll(() => secret[Symbol.asyncDispose]());

/** Calls the quickstart's endpoint. Returns the captured request. */
const captureOne = async (dev: DevRun): Promise<LogEntry> => {
  await call(dev, '/v1/orders', { body: '{}' });
  const [entry] = await eventually('the log', () => readLog(dev.data), { accept: ({ length }) => length > 0 });
  if (entry === undefined) throw new Error('no entry');
  return entry;
};

const replayTo = async (dev: DevRun, requestId: string, url: string): Promise<ReplayStatus> => {
  const replay = await DevReplay.create(dev.data, { requestId, target: { kind: 'URL', url } });
  return replay.ended();
};

const expectBlocked = ({ phase, result }: ReplayStatus): void => {
  expect({ phase, status: result?.status }).toEqual({ phase: 'Failed', status: 0 });
  expect(result?.error).toMatch(/never allowed|not allowed by the administrator/);
};

const METADATA = [
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[fd00:ec2::254]',
  '100.100.100.200',
  'metadata.google.internal',
];

describe('36: addresses that only the operator can reach', () => {
  const LOOPBACK = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '0',
    'localhost',
    'LocalHost.',
  ];
  const NETWORK = ['10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '[fd00::1]', '198.18.0.1', '224.0.0.1'];
  let dev: DevRun;
  let entry: LogEntry;
  beforeAll(async () => {
    dev = await startDev({ args: ['--deny-private-upstreams'] });
    entry = await captureOne(dev);
  });
  afterAll(() => dev.process.kill('SIGTERM'));

  test.concurrent.each([...LOOPBACK, ...METADATA, ...NETWORK])('%s is blocked with a reason', async (host) => {
    expectBlocked(await replayTo(dev, entry.id, `http://${host}:${secret.port}/latest/meta-data/`));
  });

  test('the gateway itself and the network addresses of this machine are blocked', async () => {
    const addresses = Object.values(networkInterfaces())
      .flatMap((found) => found ?? [])
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => `http://${address}:${secret.port}/`);
    for (const url of [dev.ready.gateway, ...addresses]) expectBlocked(await replayTo(dev, entry.id, url));
  });

  test('an upstream that was added to the endpoint after the capture is blocked', async () => {
    const file = path.join(dev.manifests, 'later.yaml');
    await writeFile(file, endpoint('later', mock('"mock"')));
    await eventually('the mock', () => call(dev, '/later'), { accept: ({ status }) => status === 200 });
    const forward = { action: 'JSON', json: { body: '1' }, forward: { url: secret.url } };
    await writeFile(file, endpoint('later', forward));
    const [later] = await eventually('the log', () => readLog(dev.data, '-e', 'later'), {
      accept: ({ length }) => length > 0,
    });
    if (later === undefined) throw new Error('no entry');
    await eventually('the edit', () => call(dev, '/later'), { accept: ({ body }) => body === '1' });
    const replay = await DevReplay.create(dev.data, { requestId: later.id, target: { kind: 'Upstream' } });
    expectBlocked(await replay.ended());
  });

  test('no connection reached the upstream', () => {
    expect(secret.connections()).toBe(0);
  });
});

describe('37: names whose addresses change or mix', () => {
  const DNS: Record<string, string[][]> = {
    'good.test': [['127.0.0.1']],
    'rebinds.test': [['127.0.0.1'], ['169.254.169.254']],
    'mixed.test': [['127.0.0.1', '169.254.169.254']],
    'mapped.test': [['::ffff:169.254.169.254']],
    'nat64.test': [['64:ff9b::a9fe:a9fe']],
    'metadata.test': [['169.254.169.254']],
    'unspecified.test': [['0.0.0.0']],
  };
  let dev: DevRun;
  let entry: LogEntry;
  beforeAll(async () => {
    dev = await startDev({ nodeArgs: ['--import', DOUBLE], env: { STANDIN_TEST_DNS: JSON.stringify(DNS) } });
    entry = await captureOne(dev);
  });
  afterAll(() => dev.process.kill('SIGTERM'));
  const replay = (name: string, target = '/') => replayTo(dev, entry.id, `http://${name}:${secret.port}${target}`);

  test('a name that changes from an allowed address to the metadata address is blocked', async () => {
    expect(await replay('good.test')).toMatchObject({ phase: 'Succeeded', result: { status: 200 } });
    expect(await replay('rebinds.test')).toMatchObject({ phase: 'Succeeded', result: { status: 200 } });
    expectBlocked(await replay('rebinds.test'));
  });

  test.concurrent.each(['mixed.test', 'mapped.test', 'nat64.test', 'metadata.test', 'unspecified.test'])(
    '%s is blocked',
    async (name) => {
      expectBlocked(await replay(name));
    },
  );

  test('a redirect to the metadata address is the result and is not followed', async () => {
    expect(await replay('good.test', '/redirect')).toMatchObject({ phase: 'Succeeded', result: { status: 302 } });
  });
});
