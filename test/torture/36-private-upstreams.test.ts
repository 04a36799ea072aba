import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkUpstreamUrl } from '@standin/egress';
import { ask } from './raw-client.ts';
import { forward, Stand } from './stand.ts';
import { responseText, startUpstream, type Upstream } from './upstream.ts';

/**
 * Torture test 36: upstreams that only the gateway can reach. In a cluster, the operator rejects such an Endpoint with the reason
 * that `checkUpstreamUrl` returns. Here, the Endpoint reaches the gateway, which must block the upstream itself.
 */

let secret: Upstream;
beforeAll(async () => {
  secret = await startUpstream(responseText('secret'));
});
afterAll(() => secret[Symbol.asyncDispose]());

let serial = 0;
/** Creates an endpoint that forwards to `url`, and calls it. Returns the row and the response. */
const askVia = async (stand: Stand, url: string, viaService = false) => {
  serial += 1;
  const slug = `/up-${serial}`;
  await stand.publish({ slug, action: forward(url, { viaService }) });
  const marker = stand.marker();
  const answer = await ask(stand.port, stand.head('GET', stand.target(slug, marker)));
  stand.accept(marker);
  return { answer, row: await stand.row(marker) };
};

const expectBlocked = async (stand: Stand, url: string, viaService = false) => {
  const { answer, row } = await askVia(stand, url, viaService);
  expect(answer?.status).toBe(502);
  expect(JSON.parse(answer?.body.toString() ?? '{}')).toMatchObject({ code: 'upstream_blocked' });
  expect(row).toMatchObject({ status: 502, outcome: 'upstream_failed' });
  expect(row.upstreamError).toMatch(/never allowed|not allowed by the administrator/);
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

describe('in a cluster, an upstream is blocked', () => {
  let stand: Stand;
  beforeAll(async () => {
    stand = await Stand.start();
  });
  afterAll(() => stand[Symbol.asyncDispose]());

  const LOOPBACK = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '127.0.0.001',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '0',
    '[::]',
    'localhost',
    'LocalHost.',
    'x.localhost',
  ];
  test.concurrent.each(LOOPBACK)("on the gateway's machine, as %s", async (host) => {
    const url = `http://${host}:${secret.port}/`;
    expect(checkUpstreamUrl(new URL(url), { allowPrivate: false, allow: [] })).toBeDefined();
    await Promise.all([expectBlocked(stand, url), expectBlocked(stand, url, true)]);
  });

  test.concurrent.each(METADATA)('at the metadata address, as %s', async (host) => {
    const url = `http://${host}/latest/meta-data/`;
    await Promise.all([expectBlocked(stand, url), expectBlocked(stand, url, true)]);
  });

  test('if it is ClickHouse, the gateway, its admin port or a network address of this machine', async () => {
    const addresses = Object.values(networkInterfaces())
      .flatMap((found) => found ?? [])
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => `http://${address}:${stand.port}/`);
    for (const url of [
      stand.clickhouse.url,
      `http://127.0.0.1:${stand.port}/`,
      `http://127.0.0.1:${stand.adminPort}/metrics`,
    ]) {
      await expectBlocked(stand, url);
    }
    for (const url of addresses) await expectBlocked(stand, url);
  });

  test.concurrent.each([
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '[fd00::1]',
    '198.18.0.1',
    '192.0.2.1',
    '224.0.0.1',
    '255.255.255.255',
  ])('in a private or reserved network, at %s', async (host) => {
    await expectBlocked(stand, `http://${host}/`);
  });

  test('before a connection is opened, and the attempt is logged', async () => {
    expect(secret.connections()).toBe(0);
    await stand.verify();
  });
});

describe('on a developer machine', () => {
  let stand: Stand;
  beforeAll(async () => {
    stand = await Stand.start({
      env: { STANDIN_EGRESS_ALLOW_PRIVATE: 'true', STANDIN_EGRESS_ALLOW: '0.0.0.0/0,::/0' },
    });
  });
  afterAll(() => stand[Symbol.asyncDispose]());

  test('a loopback upstream is reached', async () => {
    const { answer } = await askVia(stand, secret.url);
    expect(answer).toMatchObject({ status: 200, body: Buffer.from('secret') });
  });

  test.concurrent.each([...METADATA, '169.254.1.1', '[fe80::1]'])('%s is still blocked', async (host) => {
    await expectBlocked(stand, `http://${host}/`);
  });
});
