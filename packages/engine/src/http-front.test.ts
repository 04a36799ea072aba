import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { INSERTS_PATH } from '@standin/contract/insert-mark';
import { onTestFinished, describe, expect, test } from 'vitest';
import type { Engine } from './engine.ts';
import { createHttpFront } from './http-front.ts';
import { createInsertCounter } from './insert-counter.ts';
import type { EngineStatement } from './statement.ts';

const statements: EngineStatement[] = [];

/** Records every statement, and responds with its text. test/integration/logstore-engine.test.ts covers the real engine. */
const engine: Engine = {
  version: '26.7',
  rules: { tableFunctions: new Set(), hasClusters: false },
  temporaryDirectory: '',
  run: (_lane, statement) => {
    statements.push(statement);
    return Promise.resolve({ bytes: Buffer.from(statement.query), rowsRead: 0, bytesRead: 0, elapsed: 0 });
  },
  close: () => undefined,
};

const credentials = { user: 'standin', password: 'secret' };

/** Sends a request to a front with this access. Returns the status and text of the response. */
const ask = async (
  fromElsewhere: boolean,
  headers: OutgoingHttpHeaders = {},
  { path = '/?query=SELECT+1', method = 'GET' } = {},
) => {
  const access = { fromElsewhere, credentials };
  const server = createHttpFront(engine, access).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
};

const selected = { status: 200, body: 'SELECT 1' };
const authorization = `Basic ${Buffer.from('standin:secret').toString('base64')}`;

describe('a front for this machine', () => {
  test.for(['127.0.0.1:8123', 'localhost', '[::1]:8123'])('responds to the host %s', async (host) => {
    expect(await ask(false, { host, authorization })).toEqual(selected);
  });

  test.for(['clickhouse', 'rebound.example.com:8123', '10.0.0.1'])('refuses the host %s', async (host) => {
    expect(await ask(false, { host, authorization })).toMatchObject({ status: 403 });
  });
});

describe('a front for other machines', () => {
  test.for(['clickhouse', '10.0.0.1:8123', 'localhost'])('responds to the host %s', async (host) => {
    expect(await ask(true, { host, authorization })).toEqual(selected);
  });

  test.for([{ origin: 'https://example.com' }, { 'sec-fetch-site': 'same-origin' }])(
    'refuses a page in a browser: %o',
    async (headers) => {
      expect(await ask(true, { ...headers, authorization })).toMatchObject({ status: 403 });
    },
  );
});

describe('a front with a user', () => {
  test('responds to that user', async () => {
    expect(await ask(true, { authorization })).toEqual(selected);
  });

  test('refuses other users as the server does', async () => {
    const { status, body } = await ask(true);
    expect(status).toBe(403);
    expect(body).toContain('(AUTHENTICATION_FAILED) (version 26.7 (embedded))');
  });

  test.for([
    ['GET', true],
    ['POST', false],
  ] as const)('runs a statement of a %s request as read-only: %s', async ([method, readOnly]) => {
    expect(await ask(true, { authorization }, { method })).toEqual(selected);
    expect(statements.at(-1)).toMatchObject({ query: 'SELECT 1', readOnly });
  });

  test('responds to /ping from anyone', async () => {
    expect(await ask(true, {}, { path: '/ping' })).toEqual({ status: 200, body: 'Ok.\n' });
  });
});

test('a client that leaves no longer waits for the next insert', async () => {
  const counter = createInsertCounter();
  let waiting = 0;
  const inserts: typeof counter = {
    ...counter,
    whenPast: (mark, callback) => {
      const leave = counter.whenPast(mark, callback);
      waiting += 1;
      return () => {
        waiting -= 1;
        leave?.();
      };
    },
  };
  const server = createHttpFront({ ...engine, inserts }, { fromElsewhere: false, credentials }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const path = `${INSERTS_PATH}?after=${inserts.mark()}`;
  const sent = request({ host: '127.0.0.1', port, path, headers: { authorization }, agent: false }).end();
  sent.on('error', () => undefined);
  await expect.poll(() => waiting).toBe(1);
  sent.destroy();
  await expect.poll(() => waiting).toBe(0);
});
