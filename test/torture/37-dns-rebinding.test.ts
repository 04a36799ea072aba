import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask } from './raw-client.ts';
import { forward, Stand } from './stand.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/**
 * Torture test 37: names whose addresses change or mix. 127.0.0.1 represents a public address, because it is the only address that
 * the administrator allows.
 */

const DOUBLE = pathToFileURL(path.join(import.meta.dirname, 'dns-double.ts')).href;
const DNS: Record<string, string[][]> = {
  'good.test': [['127.0.0.1']],
  'rebinds.test': [['127.0.0.1'], ['127.0.0.2']],
  'flips.test': [['127.0.0.2'], ['127.0.0.1']],
  'mixed.test': [['127.0.0.1', '10.0.0.1']],
  'mixed-first.test': [['169.254.169.254', '127.0.0.1']],
  'mapped.test': [['::ffff:127.0.0.2']],
  'nat64.test': [['64:ff9b::7f00:2']],
  'metadata.test': [['169.254.169.254']],
  'unspecified.test': [['0.0.0.0']],
  'empty.test': [[]],
  'redirects.test': [['127.0.0.1']],
};

let stand: Stand;
let upstream: Upstream;
beforeAll(async () => {
  // Every response closes its connection, so that the name is looked up again for each request, as if its TTL were 0.
  upstream = await startUpstream((socket, { target }) => {
    const redirect = target.startsWith('/redirect')
      ? '302 Found\r\nlocation: http://169.254.169.254/latest/'
      : '200 OK';
    socket.end(`HTTP/1.1 ${redirect}\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok`);
  });
  stand = await Stand.start({
    nodeArgs: ['--import', DOUBLE],
    env: { STANDIN_EGRESS_ALLOW: '127.0.0.1/32', STANDIN_TEST_DNS: JSON.stringify(DNS) },
  });
  await stand.publish(
    ...Object.keys(DNS).map((name) => ({
      slug: `/${name}`,
      action: forward(`http://${name}:${upstream.port}/${name === 'redirects.test' ? 'redirect' : ''}`),
    })),
    { slug: '/unknown', action: forward(`http://unknown.test:${upstream.port}/`) },
  );
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const askName = async (name: string) => {
  const marker = stand.marker();
  const answer = await ask(stand.port, stand.head('GET', stand.target(`/${name}`, marker)));
  stand.accept(marker);
  return { status: answer?.status, body: answer?.body.toString() ?? '', answer, marker };
};

const expectBlocked = async (name: string) => {
  const before = upstream.connections();
  const { status, body, marker } = await askName(name);
  expect(status).toBe(502);
  expect(JSON.parse(body)).toMatchObject({ code: 'upstream_blocked' });
  const { upstreamError } = await stand.row(marker);
  expect(upstreamError).toContain(`${name} resolves to `);
  expect(JSON.parse(body)).toMatchObject({ detail: upstreamError });
  // Neither the caller nor the project's owner learns the address. Only the gateway's log messages contain it.
  for (const address of DNS[name]?.flat() ?? []) expect(upstreamError).not.toContain(address);
  expect(upstream.connections()).toBe(before);
};

describe('a name', () => {
  test('with an allowed address is reached every time', async () => {
    for (let round = 0; round < 3; round += 1) expect((await askName('good.test')).status).toBe(200);
  });

  test('that changes from a public to a private address is blocked', async () => {
    expect((await askName('rebinds.test')).status).toBe(200);
    await expectBlocked('rebinds.test');
    await expectBlocked('rebinds.test');
  });

  test('that changes from a private to a public address is blocked, then reached', async () => {
    await expectBlocked('flips.test');
    expect((await askName('flips.test')).status).toBe(200);
  });

  test.each(['mixed.test', 'mixed-first.test', 'mapped.test', 'nat64.test', 'metadata.test', 'unspecified.test'])(
    '%s is blocked',
    async (name) => {
      await expectBlocked(name);
    },
  );

  test.each(['empty.test', 'unknown'])('without an address (%s) causes 502', async (name) => {
    const { status, body } = await askName(name);
    expect(status).toBe(502);
    expect(JSON.parse(body)).toMatchObject({ code: 'upstream_unreachable' });
  });

  test('whose server redirects to the metadata address returns the redirect to the client', async () => {
    const { status, answer } = await askName('redirects.test');
    expect(status).toBe(302);
    expect(answer?.all('location')).toEqual(['http://169.254.169.254/latest/']);
  });
});

test('the log contains every exchange', async () => {
  await stand.verify();
});
