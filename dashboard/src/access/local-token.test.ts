import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { localToken } from './local-token.ts';

const TOKEN = 'the-token-of-this-run';
const known = localToken(TOKEN);
let server: Server;
let port: number;
beforeAll(async () => {
  const app = express().use(known.exchange, (_, response) => void response.send('passed'));
  server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => void server.close());

const ask = async (path: string, method = 'GET') => {
  const sent = request({ host: '127.0.0.1', port, path, method, agent: false, headers: { host: 'localhost:3000' } });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  const { statusCode, headers } = response;
  return { status: statusCode, location: headers.location, cookies: headers['set-cookie'] ?? [] };
};

describe('the printed URL', () => {
  test('sets a cookie that scripts and other sites cannot use, and redirects to the same page', async () => {
    const { status, location, cookies } = await ask(`/projects?view=list&token=${TOKEN}`);
    expect([status, location]).toEqual([303, '/projects?view=list']);
    expect(cookies).toEqual([
      expect.stringMatching(/^standin-dev-3000=[\w-]{43}; Path=\/; Max-Age=\d+; SameSite=Strict; HttpOnly$/),
    ]);
    expect(cookies.join()).not.toContain(TOKEN);
  });

  test.for(['/.//evil.example?token=', '/%5Cevil.example?token=', '//evil.example/x?token='])(
    'does not redirect to another site: %s',
    async (path) => {
      const { location } = await ask(`${path}${TOKEN}`);
      expect(new URL(location ?? '', 'http://localhost').host).toBe('localhost');
    },
  );

  test.for(['', 'the-token-of-this-ru', `${TOKEN}x`])('is refused with a token from another run: %j', async (token) => {
    expect(await ask(`/?token=${token}`)).toEqual({ status: 403, location: undefined, cookies: [] });
  });

  test('does not affect other requests', async () => {
    expect(await ask('/')).toMatchObject({ status: 200, cookies: [] });
    expect(await ask(`/?token=${TOKEN}`, 'POST')).toMatchObject({ status: 200, cookies: [] });
  });
});

describe('a request', () => {
  const isSentBy = (headers: IncomingMessage['headers']) =>
    known.isSentBy({ headers: { host: 'localhost:3000', ...headers } });

  test('is accepted with the bearer token or the cookie', async () => {
    const { cookies } = await ask(`/?token=${TOKEN}`);
    const cookie = cookies[0]?.split(';')[0] ?? '';
    expect(isSentBy({ authorization: `Bearer ${TOKEN}` })).toBe(true);
    expect(isSentBy({ cookie })).toBe(true);
    expect(isSentBy({ cookie, host: 'localhost:3001' })).toBe(false);
    expect(isSentBy({ cookie, authorization: 'Bearer other' })).toBe(false);
    expect(isSentBy({ authorization: `Bearer ${cookie.split('=')[1]}` })).toBe(false);
  });

  test.for([
    {},
    { cookie: '' },
    { cookie: 'standin-dev-3000=' },
    { cookie: `standin-dev-3000=${TOKEN}` },
    { authorization: 'Bearer x' },
    { authorization: 'Basic eDp5' },
  ])('is refused without a valid token or cookie: %o', (headers) => {
    expect(isSentBy(headers)).toBe(false);
  });
});
