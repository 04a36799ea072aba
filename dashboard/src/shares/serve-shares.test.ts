import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { clientAddresses } from '../client-address.ts';
import { WorkRefused } from '../workers/work-refused.ts';
import type { OpenedShare, PublicShares } from './public-shares.ts';
import { serveShares } from './serve-shares.ts';

const SHARE = { expiresAt: '2026-11-21T13:00:00Z' } as OpenedShare;
const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

/** Starts a server behind a trusted proxy. Returns a function that opens a link as the client with an address. */
const serve = async (open: PublicShares['open']): Promise<(token: string, address: string) => Promise<Response>> => {
  const app = express();
  app.use(
    serveShares({
      shares: { open },
      logger: pino({ level: 'silent' }),
      now: () => 0,
      clientAddress: clientAddresses(['127.0.0.0/8', '::1']),
      render: (_, response) => void response.status(response.locals['share'] === undefined ? 404 : 200).end(),
    }),
  );
  const server = createServer(app).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return (token, address) =>
    fetch(`http://127.0.0.1:${port}/s/${token}`, { headers: { 'x-forwarded-for': `10.1.1.1, ${address}` } });
};

const serveLinks = () => serve((token) => Promise.resolve(token === 'works' ? SHARE : undefined));

const countStatuses = async (answers: readonly Promise<Response>[]): Promise<ReadonlyMap<number, number>> => {
  const counts = new Map<number, number>();
  for (const { status } of await Promise.all(answers)) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
};
const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

it('limits invalid links for each client behind a trusted proxy', async () => {
  const get = await serveLinks();
  const statuses = await countStatuses(times(60, () => get('guess', '192.0.2.1')));
  expect([...statuses]).toEqual([[404, 60]]);
  const refused = await get('guess', '192.0.2.1');
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await get('works', '192.0.2.1')).status).toBe(429);
  expect((await get('guess', '192.0.2.2')).status).toBe(404);
});

it('has a separate, higher limit for working links', async () => {
  const get = await serveLinks();
  const opened = await countStatuses(times(200, () => get('works', '192.0.2.1')));
  // Some requests get 503, because the number of concurrent lookups is limited.
  expect([...opened.keys()].every((status) => status === 200 || status === 503)).toBe(true);
  expect((await get('guess', '192.0.2.1')).status).toBe(404);
  expect((await get('works', '192.0.2.1')).status).toBe(200);
});

it('leaves lookups for other addresses while one address waits for many links', async () => {
  const { promise, resolve } = Promise.withResolvers<OpenedShare>();
  const get = await serve((token) => (token === 'works' ? Promise.resolve(SHARE) : promise));
  const answered: number[] = [];
  const slow = times(80, () => get('slow', '192.0.2.1').then(({ status }) => answered.push(status)));
  await expect.poll(() => answered).toEqual(times(48, () => 503));
  expect((await get('works', '192.0.2.2')).status).toBe(200);
  resolve(SHARE);
  await Promise.all(slow);
});

it('sends Retry-After if an exchange cannot be redacted now or in time', async () => {
  const busy = await (await serve(() => Promise.reject(new WorkRefused('Busy'))))('works', '192.0.2.1');
  expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '1']);
  const slow = await (await serve(() => Promise.reject(new WorkRefused('TooSlow'))))('works', '192.0.2.1');
  expect([slow.status, slow.headers.get('retry-after')]).toEqual([503, '600']);
  expect(await slow.text()).toBe('This request is too large to show.\n');
});
