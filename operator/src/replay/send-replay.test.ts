import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { STREAM_SERVER_NAME } from '@standin/contract';
import { Authority, createEgress, type Egress } from '@standin/egress';
import { expect, onTestFinished, test } from 'vitest';
import { planCertificates } from '../publish/certificates.ts';
import { sendReplay } from './send-replay.ts';

type Reply = readonly [status: number, rejected?: string];

interface Sent {
  readonly status: number;
  /** The number of requests that the server received. */
  readonly requests: number;
  /** The namespaces for which the requests were sent. */
  readonly namespaces: ReadonlySet<string | undefined>;
}

/** Sends a replay of the namespace `shop` to a server that gives these responses in order. */
const send = async (target: 'Endpoint' | 'URL', replies: readonly Reply[]): Promise<Sent> => {
  let requests = 0;
  const namespaces = new Set<string | undefined>();
  const server = createServer((_request, response) => {
    const [status, rejected] = replies[requests++] ?? [200];
    response.writeHead(status, rejected === undefined ? {} : { 'standin-rejected': rejected }).end();
  });
  const real = createEgress({ policy: { allowPrivate: true, allow: [] } });
  const egress: Egress = {
    ...real,
    request: (request) => {
      namespaces.add(request.namespace);
      return real.request(request);
    },
  };
  onTestFinished(async () => {
    await real.close();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { status } = await sendReplay(
    { url, method: 'GET', body: Buffer.alloc(0), sent: [], stripped: [], added: [] },
    { target, url, apiKey: '', timeoutMs: 5_000, viaService: false, keyShown: '' },
    { egress, namespace: 'shop', account: 'a', captureBytesMax: 1_000, signal: AbortSignal.timeout(20_000) },
  );
  return { status, requests, namespaces };
};

test.each<[string, Reply]>([
  ['temporarily rejects it', [503, 'not_ready']],
  ['has reached the rate limit', [429, 'rate_limited']],
])('a request is sent again to a gateway that %s', async (_name, reply) => {
  expect(await send('Endpoint', [reply, reply])).toMatchObject({ status: 200, requests: 3 });
});

test.each<[string, 'Endpoint' | 'URL', Reply]>([
  ['whose endpoint is not accepted', 'Endpoint', [503, 'endpoint_not_accepted']],
  ['whose quota is used up', 'Endpoint', [429, 'quota_exceeded']],
  ['whose endpoint responds with 429', 'Endpoint', [429]],
  ['at another URL', 'URL', [429, 'rate_limited']],
])('a request is sent once to a server %s', async (_name, target, reply) => {
  expect(await send(target, [reply])).toMatchObject({ status: reply[0], requests: 1 });
});

// Without a namespace, all Replays would share connections and lookups of names, which one namespace could use up.
test.each<'Endpoint' | 'URL'>(['Endpoint', 'URL'])(
  'a request to the target %s is sent for its namespace',
  async (target) => {
    const { namespaces } = await send(target, [[200]]);
    expect([...namespaces]).toEqual(['shop']);
  },
);

test('a request to an upstream with a private authority is verified by it', async () => {
  const { caBundle, operator } = await planCertificates(undefined, new Date());
  const server = createHttpsServer(operator, (_request, response) => response.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const egress = createEgress({ policy: { allowPrivate: true, allow: [] } });
  onTestFinished(async () => {
    await egress.close();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sendWith = (serverName: string) =>
    sendReplay(
      { url, method: 'GET', body: Buffer.alloc(0), sent: [], stripped: [], added: [] },
      {
        target: 'Upstream',
        url,
        tls: { authority: new Authority(caBundle), serverName },
        apiKey: '',
        timeoutMs: 5_000,
        viaService: false,
        keyShown: '',
      },
      { egress, namespace: 'shop', account: 'a', captureBytesMax: 1_000, signal: AbortSignal.timeout(20_000) },
    );
  expect(await sendWith(STREAM_SERVER_NAME)).toMatchObject({ status: 200, error: '' });
  expect(await sendWith('other')).toMatchObject({
    status: 0,
    error: `The certificate of ${url} is not for the name other: set forward.tls.serverName to a name in the certificate.`,
  });
});
