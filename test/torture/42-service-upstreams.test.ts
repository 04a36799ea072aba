import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDnsServer, type DnsEntry, type DnsServer } from '../../packages/egress/src/dns-server.testing.ts';
import { ask } from './raw-client.ts';
import { forward, Stand } from './stand.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/**
 * Torture test 42: a tenant changes Services that are upstreams before the operator sees the change, and uses Standin's own components
 * as upstreams. Every address is allowed here, so that only the check under test can block a request.
 */

const DOUBLE = pathToFileURL(path.join(import.meta.dirname, 'dns-double.ts')).href;
const POD = '127.0.0.1';
/** The names that `dns.lookup` resolves here, as if from /etc/hosts or search domains. */
const HOSTS = Object.fromEntries(
  ['on-a-laptop.shop.svc.cluster.local', 'bait.shop.svc.cluster.local', 'clickhouse.test', 'refused.test'].map(
    (name) => [name, [[POD]]],
  ),
);
/**
 * The maximum time until a request fails when DNS does not respond. It covers three DNS queries with a timeout of one second each.
 * The endpoint's own timeout is 30 s.
 */
const SILENT_MS_MAX = 8_000;

let dns: DnsServer;
let stand: Stand;
let upstream: Upstream;
let refused: Upstream;
beforeAll(async () => {
  // Every response closes its connection, so that the name is looked up again for each request.
  const close = '200 OK\r\nconnection: close\r\ncontent-length: 2';
  [dns, upstream, refused] = await Promise.all([
    startDnsServer(),
    startUpstream((socket) => socket.end(`HTTP/1.1 ${close}\r\n\r\nok`)),
    startUpstream((socket) => socket.end(`HTTP/1.1 ${close}\r\n\r\nno`)),
  ]);
  stand = await Stand.start({
    nodeArgs: ['--import', DOUBLE],
    env: {
      STANDIN_EGRESS_ALLOW_PRIVATE: 'true',
      STANDIN_EGRESS_ALLOW: '0.0.0.0/0,::/0',
      STANDIN_EGRESS_REFUSE: `refused.test:${refused.port}`,
      STANDIN_TEST_DNS: JSON.stringify(HOSTS),
      STANDIN_TEST_DNS_SERVER: `${dns.address}:${dns.port}`,
    },
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  await Promise.all([upstream, refused, dns].map((part) => part[Symbol.asyncDispose]()));
});

let serial = 0;
const endpoint = async (url: string, viaService: boolean): Promise<string> => {
  serial += 1;
  const slug = `/service-${serial}`;
  await stand.publish({ slug, action: forward(url, { viaService }) });
  return slug;
};

/** Calls an endpoint. Returns the status, or the code of a 502. Checks that the log contains the status. */
const call = async (slug: string): Promise<number | string> => {
  const marker = stand.marker();
  const answer = await ask(stand.port, stand.head('GET', stand.target(slug, marker)));
  stand.accept(marker);
  expect((await stand.row(marker)).status).toBe(answer?.status);
  if (answer?.status !== 502) return answer?.status ?? 0;
  return (JSON.parse(answer.body.toString()) as { code: string }).code;
};

/** Creates an endpoint that forwards to the Service `name`, for which the cluster's DNS returns this entry. */
const service = (name: string, entry: DnsEntry): Promise<string> => {
  const host = `${name}.shop.svc.cluster.local`;
  dns.table[host] = entry;
  return endpoint(`http://${host}:${upstream.port}/`, true);
};

describe('a Service', () => {
  test('with pods is reached every time', async () => {
    const slug = await service('orders', { addresses: [POD] });
    for (let round = 0; round < 3; round += 1) expect(await call(slug)).toBe(200);
  });

  test.each<[string, DnsEntry]>([
    ['an alias of ClickHouse', { alias: 'clickhouse.db.svc.cluster.local', addresses: [POD] }],
    ['an alias of a public name', { alias: 'example.com', addresses: ['93.184.216.34'] }],
    ['an alias without addresses', { alias: 'clickhouse.db.svc.cluster.local' }],
    ['an alias with too many addresses', { alias: 'a.test', addresses: [POD], isLong: true }],
  ])('that is %s is blocked before a connection is opened', async (what, entry) => {
    const before = upstream.connections();
    expect(await call(await service(what.replaceAll(' ', '-').toLowerCase(), entry))).toBe('upstream_blocked');
    expect(upstream.connections()).toBe(before);
  });

  test('that becomes an alias between two requests is blocked until it has addresses again', async () => {
    const host = 'turns.shop.svc.cluster.local';
    const slug = await service('turns', { addresses: [POD] });
    expect(await call(slug)).toBe(200);
    for (let round = 0; round < 5; round += 1) {
      dns.table[host] = { alias: 'clickhouse.db.svc.cluster.local', addresses: [POD] };
      expect(await call(slug)).toBe('upstream_blocked');
      dns.table[host] = { addresses: [POD] };
      expect(await call(slug)).toBe(200);
    }
  });

  test('whose name is unknown to the cluster DNS is looked up like any other name', async () => {
    const slug = await endpoint(`http://on-a-laptop.shop.svc.cluster.local:${upstream.port}/`, true);
    expect(await call(slug)).toBe(200);
    const nowhere = await endpoint(`http://nowhere.shop.svc.cluster.local:${upstream.port}/`, true);
    expect(await call(nowhere)).toBe('upstream_unreachable');
  });

  test('is unreachable, after a short timeout, while DNS fails or does not respond', async () => {
    expect(await call(await service('failing', { code: 2 }))).toBe('upstream_unreachable');
    const slug = await service('silent', { lost: Infinity });
    const started = performance.now();
    expect(await call(slug)).toMatch(/^upstream_(unreachable|timeout)$/);
    expect(performance.now() - started).toBeLessThan(SILENT_MS_MAX);
  });
});

describe('cannot be an upstream by URL or by serviceRef:', () => {
  const expectBlocked = async (port: number | string, hosts: readonly string[]): Promise<void> => {
    const ways = hosts.flatMap((host) => [false, true].map((viaService) => ({ host, viaService })));
    const results = ways.map(async ({ host, viaService }) => [
      host,
      viaService,
      await call(await endpoint(`http://${host}:${port}/`, viaService)),
    ]);
    expect(await Promise.all(results)).toEqual(
      ways.map(({ host, viaService }) => [host, viaService, 'upstream_blocked']),
    );
  };
  const SPELLINGS = ['127.0.0.1', 'localhost', '127.1', '[::1]', '[::ffff:127.0.0.1]', '127.0.0.2', 'clickhouse.test'];

  test('ClickHouse', () => expectBlocked(new URL(stand.clickhouse.url).port, SPELLINGS));

  test('the gateway’s own metrics', () => expectBlocked(stand.adminPort, ['127.0.0.1', 'localhost', '[::1]']));

  test('the config stream', () => expectBlocked(new URL(stand.streamUrl).port, ['127.0.0.1', 'localhost']));

  test('a host that the administrator excludes, by its name and its addresses', async () => {
    await expectBlocked(refused.port, ['refused.test', '127.0.0.1', 'clickhouse.test']);
    expect(refused.connections()).toBe(0);
  });

  test('ClickHouse behind the name of a Service', async () => {
    dns.table['bait.shop.svc.cluster.local'] = { addresses: [POD] };
    await expectBlocked(new URL(stand.clickhouse.url).port, ['bait.shop.svc.cluster.local']);
  });
});

test('the log contains every request', async () => {
  await stand.verify();
});
