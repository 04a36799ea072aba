import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEgress } from '@standin/egress';
import { expect, onTestFinished, test } from 'vitest';
import { sendReplay } from './send-replay.ts';

type Reply = readonly [status: number, rejected?: string];

/** Sends a replay to a server that gives these responses in order. Returns the final status and how many requests the server got. */
const send = async (target: 'Endpoint' | 'URL', replies: readonly Reply[]): Promise<readonly [number, number]> => {
  let requests = 0;
  const server = createServer((_request, response) => {
    const [status, rejected] = replies[requests++] ?? [200];
    response.writeHead(status, rejected === undefined ? {} : { 'standin-rejected': rejected }).end();
  });
  const egress = createEgress({ policy: { allowPrivate: true, allow: [] } });
  onTestFinished(async () => {
    await egress.close();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { status } = await sendReplay(
    { url, method: 'GET', body: Buffer.alloc(0), sent: [], stripped: [], added: [] },
    { target, url, apiKey: '', timeoutMs: 5_000, viaService: false, keyShown: '' },
    { egress, captureBytesMax: 1_000, signal: AbortSignal.timeout(20_000) },
  );
  return [status, requests];
};

test.each<[string, Reply]>([
  ['temporarily rejects it', [503, 'not_ready']],
  ['has reached the rate limit', [429, 'rate_limited']],
])('a request is sent again to a gateway that %s', async (_name, reply) => {
  expect(await send('Endpoint', [reply, reply])).toEqual([200, 3]);
});

test.each<[string, 'Endpoint' | 'URL', Reply]>([
  ['whose quota is used up', 'Endpoint', [429, 'quota_exceeded']],
  ['whose endpoint responds with 429', 'Endpoint', [429]],
  ['at another URL', 'URL', [429, 'rate_limited']],
])('a request is sent once to a server %s', async (_name, target, reply) => {
  expect(await send(target, [reply])).toEqual([429, 1]);
});
