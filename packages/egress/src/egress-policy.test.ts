import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { rawResponse, egressWith, get, resolving, upstreamWith } from './egress.testing.ts';
import { parseTarget, RefusedTargets } from './refused-targets.ts';

describe('the address policy', () => {
  const cluster = { policy: { allowPrivate: false, allow: [] } };

  test.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '0',
    'localhost',
  ])('blocks the host %s before it connects', async (host) => {
    const upstream = await upstreamWith(rawResponse('secret'));
    await expect(
      egressWith(cluster).request(get(0, { url: `http://${host}:${upstream.port}/` })),
    ).rejects.toMatchObject({ code: 'upstream_blocked' });
    expect(upstream.connections()).toBe(0);
  });

  test.each([
    ['a loopback address', ['127.0.0.1']],
    ['public and private addresses mixed', ['93.184.216.34', '127.0.0.1']],
    ['a mapped address', ['::ffff:127.0.0.1']],
    ['metadata', ['169.254.169.254']],
  ])('blocks a name that resolves to %s', async (_name, ips) => {
    const upstream = await upstreamWith(rawResponse('secret'));
    await expect(
      egressWith({ ...cluster, ...resolving(...ips) }).request(get(0, { url: `http://a.test:${upstream.port}/` })),
    ).rejects.toMatchObject({
      code: 'upstream_blocked',
      message: expect.stringMatching(/^Not connected: a\.test resolves to an? [a-z -]+ address, which is n/) as string,
      detail: expect.stringContaining(` resolves to ${ips.at(-1) ?? ''}`) as string,
    });
    expect(upstream.connections()).toBe(0);
  });

  test('names a literal address in the message, because the caller specified it', async () => {
    await expect(egressWith(cluster).request(get(1))).rejects.toMatchObject({
      message: expect.stringContaining('127.0.0.1 is a loopback address, which') as string,
    });
  });

  test('resolves a name once per connection to prevent DNS rebinding', async () => {
    const upstream = await upstreamWith((socket) => socket.end(rawResponse('ok')));
    const answers = ['127.0.0.1', '127.0.0.2'];
    const egress = egressWith({
      policy: { allowPrivate: false, allow: ['127.0.0.1/32'] },
      lookup: () => Promise.resolve([{ address: answers.shift() ?? '', family: 4 }]),
    });
    const request = get(0, { url: `http://rebind.test:${upstream.port}/` });
    await buffer((await egress.request(request)).body);
    expect(answers).toHaveLength(1);
    await expect(egress.request(request)).rejects.toMatchObject({ code: 'upstream_blocked' });
    expect(upstream.connections()).toBe(1);
  });

  test('tries the second address if the first one does not respond', async () => {
    const upstream = await upstreamWith(rawResponse('ok'));
    const egress = egressWith(resolving('127.0.0.9', '127.0.0.1'));
    const result = await egress.request(get(0, { url: `http://two.test:${upstream.port}/` }));
    expect((await buffer(result.body)).toString()).toBe('ok');
  });

  test('does not reuse the connection of a serviceRef for a URL', async () => {
    const upstream = await upstreamWith((socket) => socket.write(rawResponse('ok')));
    const egress = egressWith({ policy: { allowPrivate: false, allow: ['127.0.0.1/32'] }, ...resolving('127.0.0.1') });
    const url = `http://orders.shop.svc:${upstream.port}/`;
    await buffer((await egress.request(get(0, { url, viaService: true }))).body);
    await buffer((await egress.request(get(0, { url, viaService: false }))).body);
    expect(upstream.connections()).toBe(2);
  });
});

describe('a Service that serviceRef names', () => {
  /** The policy of a cluster, with a resolver that finds no name unless the test replaces it. */
  const cluster = {
    policy: { allowPrivate: false, allow: [] },
    lookup: () => Promise.reject(Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' })),
  };
  const via = (url: string) => get(0, { url, viaService: true });

  test('is blocked if it is an alias, regardless of the target', async () => {
    const upstream = await upstreamWith(rawResponse('secret'));
    const egress = egressWith({
      ...resolving('127.0.0.1'),
      lookupService: () => Promise.resolve({ isAlias: true, addresses: [{ address: '127.0.0.1', family: 4 }] }),
    });
    const url = `http://orders.shop.svc.cluster.local:${upstream.port}/`;
    await expect(egress.request(via(url))).rejects.toMatchObject({
      code: 'upstream_blocked',
      message: expect.stringMatching(/alias \(CNAME\)/) as string,
    });
    expect(upstream.connections()).toBe(0);
    // Without `serviceRef`, the URL is subject only to the address policy, which allows this address.
    expect((await egress.request(get(0, { url }))).status).toBe(200);
  });

  test('is subject to the policy for other names if the DNS does not know it', async () => {
    const lookupService = () => Promise.resolve({ isAlias: false, addresses: [] });
    const hosts = { lookup: resolving('10.0.0.1').lookup };
    const request = via('http://orders.shop.svc.cluster.local:81/');
    await expect(egressWith({ ...cluster, lookupService }).request(request)).rejects.toMatchObject({
      code: 'upstream_unreachable',
    });
    await expect(egressWith({ ...cluster, ...hosts, lookupService }).request(request)).rejects.toMatchObject({
      code: 'upstream_blocked',
    });
    const upstream = await upstreamWith(rawResponse('ok'));
    const laptop = egressWith({ ...resolving('127.0.0.1'), lookupService });
    expect((await laptop.request(via(`http://orders.shop.svc:${upstream.port}/`))).status).toBe(200);
  });

  test('is unreachable, not blocked, if the lookup fails', async () => {
    const lookupService = () => Promise.reject(Object.assign(new Error('EAI_AGAIN'), { code: 'EAI_AGAIN' }));
    const hosts = { lookup: resolving('10.0.0.1').lookup };
    await expect(
      egressWith({ ...cluster, ...hosts, lookupService }).request(via('http://orders.shop.svc:81/')),
    ).rejects.toMatchObject({ code: 'upstream_unreachable', message: expect.stringMatching(/looked up/) as string });
  });
});

describe('a refused target', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '127.9.9.9', 'a.test'])(
    'is blocked at %s, although private addresses are allowed',
    async (host) => {
      const upstream = await upstreamWith(rawResponse('secret'));
      const refused = new RefusedTargets([parseTarget(`127.0.0.1:${upstream.port}`)]);
      const egress = egressWith({
        policy: { allowPrivate: true, allow: ['0.0.0.0/0', '::/0'] },
        refused,
        ...resolving('127.0.0.1'),
      });
      for (const viaService of [false, true]) {
        const url = `http://${host}:${upstream.port}/`;
        await expect(egress.request(get(0, { url, viaService }))).rejects.toMatchObject({
          code: 'upstream_blocked',
          message: expect.stringMatching(/a component of Standin/) as string,
        });
      }
      expect(upstream.connections()).toBe(0);
    },
  );

  test('is recognized by the addresses of its name', async () => {
    const upstream = await upstreamWith(rawResponse('secret'));
    const lookup = resolving('127.0.0.1').lookup;
    const refused = new RefusedTargets([parseTarget(`clickhouse:${upstream.port}`)], lookup);
    const url = `http://127.0.0.1:${upstream.port}/`;
    await expect(egressWith({ refused }).request(get(0, { url }))).rejects.toMatchObject({ code: 'upstream_blocked' });
    expect(upstream.connections()).toBe(0);
  });
});
