import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { secretWithdrawn, type EgressError } from './egress-error.ts';
import { askAndIdle, egressWith, get, rawResponse, resolving, upstreamWith } from './egress.testing.ts';

const WITHDRAWN = { code: 'upstream_unreachable', message: secretWithdrawn().message };

test('a request with an obstacle is not sent, on a new or an idle connection', async () => {
  const upstream = await upstreamWith((socket) => socket.write(rawResponse('ok')));
  const egress = egressWith();
  const headers = [['authorization', 'secret']] as const;
  const refused = () => egress.request(get(upstream.port, { headers, obstacle: secretWithdrawn }));
  await expect(refused()).rejects.toMatchObject(WITHDRAWN);
  await askAndIdle(egress, upstream);
  await expect(refused()).rejects.toMatchObject(WITHDRAWN);
  await askAndIdle(egress, upstream);
  expect(upstream.received()).not.toContain('secret');
});

test('an obstacle that appears while a request waits for its connection stops the request', async () => {
  const upstream = await upstreamWith((socket) => socket.end(rawResponse('ok')));
  const lookup = Promise.withResolvers<undefined>();
  const { lookup: resolve } = resolving('127.0.0.1');
  const egress = egressWith({ lookup: () => lookup.promise.then(resolve) });
  let obstacle: EgressError | undefined;
  const url = `http://api.example.test:${upstream.port}/a`;
  const waiting = egress.request(get(upstream.port, { url, obstacle: () => obstacle }));
  const refused = expect(waiting).rejects.toMatchObject(WITHDRAWN);
  obstacle = secretWithdrawn();
  lookup.resolve(undefined);
  await refused;
  expect(upstream.received()).toBe('');
  obstacle = undefined;
  const sent = await egress.request(get(upstream.port, { url, obstacle: () => obstacle }));
  expect((await buffer(sent.body)).toString()).toBe('ok');
});
