import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { Authority } from './authority.ts';
import { cleanUp, egressWith, get, resolving } from './egress.testing.ts';
import { makeCertificate } from './raw-upstream.testing.ts';
import { usedBytes } from './used-bytes.testing.ts';

test('an authority that is replaced, and its connections, are forgotten when the connections are closed', async () => {
  const { ca, cert, key } = await makeCertificate('a.test');
  const server = createServer({ cert, key, keepAliveTimeout: 1_000 }, (_, response) => response.end('ok'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => Promise.resolve(server.close()));
  const { port } = server.address() as AddressInfo;
  const egress = egressWith(resolving('127.0.0.1'));
  const replaced: WeakRef<Authority>[] = [];
  for (let change = 0; change < 100; change += 1) {
    const authority = new Authority(`${ca}\n${String(change)}`);
    replaced.push(new WeakRef(authority));
    const url = `https://a.test:${port}/`;
    await buffer((await egress.request(get(port, { url, tls: { authority } }))).body);
  }
  const held = () => replaced.filter((reference) => reference.deref() !== undefined).length;
  await expect
    .poll(
      async () => {
        // A WeakRef holds its target until the end of the turn.
        await delay(1);
        usedBytes();
        return held();
      },
      { timeout: 10_000, interval: 200 },
    )
    .toBeLessThanOrEqual(1);
});
