import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { answer, egressWith, get, resolving, upstreamWith } from './egress.testing.ts';

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
  ])('the host %s is blocked before anything is dialled', async (host) => {
    const upstream = await upstreamWith(answer('secret'));
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
  ])('a name that resolves to %s is blocked', async (_name, ips) => {
    const upstream = await upstreamWith(answer('secret'));
    await expect(
      egressWith({ ...cluster, ...resolving(...ips) }).request(get(0, { url: `http://a.test:${upstream.port}/` })),
    ).rejects.toMatchObject({
      code: 'upstream_blocked',
      message: expect.stringMatching(/^Not connected: a\.test resolves to an? [a-z -]+ address, which is n/) as string,
      detail: expect.stringContaining(` resolves to ${ips.at(-1) ?? ''}`) as string,
    });
    expect(upstream.connections()).toBe(0);
  });

  test('a literal address is in the message: who asks gave it', async () => {
    await expect(egressWith(cluster).request(get(1))).rejects.toMatchObject({
      message: expect.stringContaining('127.0.0.1 is a loopback address, which') as string,
    });
  });

  test('rebinding: a name is looked up once for a connection, and again for the next', async () => {
    const upstream = await upstreamWith((socket) => socket.end(answer('ok')));
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

  test('a second address is tried when the first does not answer', async () => {
    const upstream = await upstreamWith(answer('ok'));
    const egress = egressWith(resolving('127.0.0.9', '127.0.0.1'));
    const result = await egress.request(get(0, { url: `http://two.test:${upstream.port}/` }));
    expect((await buffer(result.body)).toString()).toBe('ok');
  });

  test('a connection that a serviceRef made does not serve a URL', async () => {
    const upstream = await upstreamWith((socket) => socket.write(answer('ok')));
    const egress = egressWith({ policy: { allowPrivate: false, allow: ['127.0.0.1/32'] }, ...resolving('127.0.0.1') });
    const url = `http://orders.shop.svc:${upstream.port}/`;
    await buffer((await egress.request(get(0, { url, viaService: true }))).body);
    await buffer((await egress.request(get(0, { url, viaService: false }))).body);
    expect(upstream.connections()).toBe(2);
  });
});
