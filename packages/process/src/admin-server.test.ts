import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { listenAdmin } from './admin-server.ts';

const ask = async (port: number, host: string): Promise<{ status: number | undefined; body: string }> => {
  const sent = request({ host: '127.0.0.1', port, path: '/metrics', agent: false, headers: { host } }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
};

test.each([
  ['127.0.0.1', 'localhost', 200],
  ['127.0.0.1', 'evil.example', 421],
  ['0.0.0.0', '10.1.2.3:9090', 200],
  ['0.0.0.0', 'standin.example', 200],
])('on %s, a request for metrics with the host %s gets %s', async (host, asked, status) => {
  const registry = new Registry();
  const server = await listenAdmin({ host, port: 0, registry, notReadyBecause: () => [] });
  const answer = await ask(Number(new URL(server.url).port), asked);
  expect([answer.status, answer.body.includes('localhost only')]).toEqual([status, status === 421]);
  await server.close();
});
