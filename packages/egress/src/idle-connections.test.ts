import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Method } from '@standin/contract';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Egress } from './egress.ts';
import { askAndIdle, egressWith, get, rawResponse, upstreamWith } from './egress.testing.ts';
import type { RawUpstream } from './raw-upstream.testing.ts';

type Close = (socket: Socket) => unknown;
const CLOSES: readonly (readonly [string, Close])[] = [
  ['resets', (socket) => socket.resetAndDestroy()],
  ['closes', (socket) => socket.destroy()],
  ['half-closes', (socket) => socket.end()],
];

/** Starts an upstream that has `count` idle connections from the egress, and that closes each of them at its next request. */
const withIdleConnections = async (count: number, method: Method, close: Close) => {
  const idle: Socket[] = [];
  const upstream = await upstreamWith((socket) => {
    if (idle.includes(socket)) close(socket);
    else if (idle.length === count) socket.write(rawResponse('ok'));
    else if (idle.push(socket) === count) for (const each of idle) each.write(rawResponse('ok'));
  });
  const egress = egressWith();
  await Promise.all(Array.from({ length: count }, () => askAndIdle(egress, upstream, { method })));
  expect(upstream.connections()).toBe(count);
  return { upstream, egress, idle };
};

const ask = async (egress: Egress, { port }: RawUpstream, method: Method): Promise<string> =>
  (await buffer((await egress.request(get(port, { method }))).body)).toString();

const requestsTo = (upstream: RawUpstream) => upstream.received().match(/ \/a HTTP/g)?.length;

describe.each([1, 2, 4, 10])('if %d idle connections are dead', (count) => {
  describe.each(CLOSES)('and the upstream %s each at its next request', (_name, close) => {
    test.each(['GET', 'PUT', 'DELETE'] as const)('%s is sent again on a new connection', async (method) => {
      const { upstream, egress } = await withIdleConnections(count, method, close);
      expect(await ask(egress, upstream, method)).toBe('ok');
      expect([upstream.connections(), requestsTo(upstream)]).toEqual([count + 1, count + 2]);
    });

    test.each(['POST', 'PATCH'] as const)('%s is not sent again, because it may have had an effect', async (method) => {
      const { upstream, egress } = await withIdleConnections(count, method, close);
      await expect(ask(egress, upstream, method)).rejects.toMatchObject({ code: 'upstream_unreachable' });
      expect(requestsTo(upstream)).toBe(count + 1);
    });

    test('as many requests at the same time succeed', async () => {
      const { upstream, egress } = await withIdleConnections(count, 'GET', close);
      const asked = await Promise.all(Array.from({ length: count }, () => ask(egress, upstream, 'GET')));
      expect(new Set(asked)).toEqual(new Set(['ok']));
    });
  });

  // An upstream that restarts closes all its connections.
  test.each(CLOSES)(
    'any request succeeds when the upstream %s all before a part of it is sent',
    async (_name, close) => {
      for (const method of ['GET', 'POST'] as const) {
        const { upstream, egress, idle } = await withIdleConnections(count, method, close);
        for (const socket of idle) close(socket);
        expect(await ask(egress, upstream, method)).toBe('ok');
      }
    },
  );
});

test.each([
  ['POST', 900, 1],
  ['PATCH', 900, 1],
  ['POST', 1_100, 2],
  ['PATCH', 1_100, 2],
  ['GET', 1_100, 1],
] as const)('after a %s and %d ms, the next one is on connection %d', async (method, idleMs, connections) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const upstream = await upstreamWith((socket) => socket.write(rawResponse('ok', 'keep-alive: timeout=600\r\n')));
  const egress = egressWith();
  await askAndIdle(egress, upstream, { method });
  vi.advanceTimersByTime(idleMs);
  await askAndIdle(egress, upstream, { method });
  expect(upstream.connections()).toBe(connections);
});

test('a reset of a new connection is not followed by another request', async () => {
  const upstream = await upstreamWith((socket) => socket.resetAndDestroy());
  await expect(egressWith().request(get(upstream.port))).rejects.toMatchObject({ code: 'upstream_unreachable' });
  expect(upstream.connections()).toBe(1);
});
