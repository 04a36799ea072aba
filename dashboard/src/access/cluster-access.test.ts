import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { backendWith } from '../api/api-server.testing.ts';
import { testUser } from '../cluster/cluster-user.testing.ts';
import { clusterAccess } from './cluster-access.ts';

it('an audit line has the user, even if the API server did not respond when the request arrived', async () => {
  let isDown = true;
  let reviews = 0;
  const client = {
    create: () => {
      reviews += 1;
      return isDown
        ? Promise.reject(new Error('down'))
        : Promise.resolve({ status: { userInfo: { username: 'ada' } } });
    },
  };
  const lines: string[] = [];
  const access = clusterAccess({
    backends: { as: () => backendWith({}), user: () => testUser(client) },
    secrets: ['a secret of at least 32 characters'],
    maxAgeMs: 1_000,
    isSecure: true,
    oidc: undefined,
    audit: pino({}, { write: (line) => void lines.push(line) }),
    logger: pino({ level: 'silent' }),
  });
  const request = new IncomingMessage(new Socket());
  request.headers.authorization = 'Bearer t';
  const sender = { findHolder: () => Promise.resolve('network'), signal: new AbortController().signal };
  const session = await access.findSession(request, sender);
  expect([await session?.findHolder(), await session?.findHolder()]).toEqual(['network', 'network']);
  expect(reviews).toBe(1);
  isDown = false;
  const log = await session?.backend.logs.open({ namespace: 'a', name: 'shop', uid: 'u' });
  await log?.row('id');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ user: 'ada', read: 'request' }]);
});
