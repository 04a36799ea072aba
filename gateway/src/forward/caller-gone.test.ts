import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { FALLBACK_REASONS } from '@standin/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  HOST,
  request,
  serverUrl,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from '../gateway.testing.ts';
import { RawClient } from '../raw-client.testing.ts';
import type { CallerConnection, Exchange } from '../request/exchange.ts';
import { endWithoutCaller } from './caller-gone.ts';

const READ_MS = 400;
const HEAD_MS = 1_200;
/** The connection to the upstream ends no later than this after it may end. */
const LATE_MS = 350;

/** Sends the response. Set by each test. */
let act: (socket: Socket) => void;
let connection = Promise.withResolvers<Socket>();
const upstream = createServer((socket) => {
  socket
    .on('error', () => undefined)
    .on('data', () => {
      act(socket);
      connection.resolve(socket);
    });
});

let stand: TestGateway;
beforeAll(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const mock = { status: 203, headers: [], body: '{}' };
  const forwards = { kind: 'Forward', url: serverUrl(upstream), timeoutMs: 5_000 } as const;
  const fallback = { on: FALLBACK_REASONS, mock };
  stand = await startTestGateway({
    settings: {
      egress: { allowPrivate: true },
      limits: { disconnectedReadMs: READ_MS, responseStallTimeoutMs: HEAD_MS },
    },
    objects: [...BASIC_OBJECTS, endpoint('/f', forwards), endpoint('/with-fallback', { ...forwards, fallback })],
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  upstream.close();
});

const LEAVE = {
  'closes its connection': (socket: Socket) => socket.destroy(),
  'resets its connection': (socket: Socket) => socket.resetAndDestroy(),
} as const;

let serial = 0;
/** Sends a request. When `received` has arrived, the caller leaves. Returns the upstream's connection and the row to come. */
const askAndLeave = async (
  received: string,
  { leave = LEAVE['closes its connection'], slug = 'f' }: { leave?: (socket: Socket) => unknown; slug?: string } = {},
) => {
  const query = `n=${++serial}`;
  connection = Promise.withResolvers();
  const client = await RawClient.connect(stand.gateway.url);
  client.send(request('POST', `/${URI}/${slug}?${query}`, [HOST, WITH_KEY]));
  const socket = await connection.promise;
  while (!client.received.includes(received)) await once(client.socket, 'data');
  leave(client.socket);
  const leftMs = performance.now();
  return {
    socket,
    /** Resolves with the milliseconds from the disconnect to the end of the connection to the upstream. */
    ended: async (): Promise<number> => {
      if (!socket.closed) await once(socket, 'close');
      return performance.now() - leftMs;
    },
    row: async () => {
      await stand.sink.until(({ rows }) => rows.some((row) => row.query === query && row.version === 2));
      const { outcome, status, responseBody, responseTruncated, upstreamError } =
        stand.sink.rows.find((row) => row.query === query && row.version === 2) ?? stand.sink.rows[0] ?? {};
      return { outcome, status, body: Buffer.from(responseBody ?? []).toString(), responseTruncated, upstreamError };
    },
  };
};

const GONE = 'The connection to the caller was closed. The gateway then ended the request to the upstream.';
const head = (type: string): string => `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`;
const incompleteResponse = (body: string) => ({ outcome: 'caller_gone', status: 200, body, responseTruncated: true });

test.each(
  ['text/event-stream', 'Text/Event-Stream;charset=utf-8', 'application/x-ndjson', 'application/ndjson'].flatMap(
    (type) => Object.keys(LEAVE).map((name) => ({ type, name: name as keyof typeof LEAVE })),
  ),
)('a stream of $type ends when the caller $name', async ({ type, name }) => {
  act = (socket) => socket.write(`${head(type)}4\r\none\n\r\n`);
  const { ended, row } = await askAndLeave('one\n', { leave: LEAVE[name] });
  expect(await ended()).toBeLessThan(LATE_MS);
  expect(await row()).toEqual({ ...incompleteResponse('one\n'), upstreamError: GONE });
});

test('a stream that begins after the caller has left ends when it begins', async () => {
  act = () => undefined;
  const { socket, ended, row } = await askAndLeave('');
  setTimeout(() => socket.write(head('text/event-stream')), READ_MS);
  const endedMs = await ended();
  expect(endedMs).toBeGreaterThan(READ_MS - 20);
  expect(endedMs).toBeLessThan(READ_MS + LATE_MS);
  expect(await row()).toEqual({ ...incompleteResponse(''), upstreamError: GONE });
});

test.each([
  ['chunks', `${head('application/json')}3\r\none\r\n`],
  ['a length', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\none'],
  ['no length', 'HTTP/1.1 200 OK\r\n\r\none'],
])('another response, with %s, is read for the set time after the caller has left', async (_name, text) => {
  act = (socket) => socket.write(text);
  const { ended, row } = await askAndLeave('one');
  const endedMs = await ended();
  expect(endedMs).toBeGreaterThan(READ_MS - 20);
  expect(endedMs).toBeLessThan(READ_MS + LATE_MS);
  expect(await row()).toEqual({ ...incompleteResponse('one'), upstreamError: GONE });
});

test('a response that is complete in that time is recorded like any other', async () => {
  act = () => undefined;
  const { socket, row } = await askAndLeave('');
  socket.write('HTTP/1.1 201 Created\r\ncontent-length: 3\r\n\r\none');
  expect(await row()).toEqual({
    outcome: 'forwarded',
    status: 201,
    body: 'one',
    responseTruncated: false,
    upstreamError: '',
  });
});

const NOTHING = { outcome: 'caller_gone', status: 0, body: '', responseTruncated: false };

test.each(['f', 'with-fallback'])('an upstream of /%s that does not respond is waited for', async (slug) => {
  act = () => undefined;
  const { ended, row } = await askAndLeave('', { slug });
  const endedMs = await ended();
  expect(endedMs).toBeGreaterThan(HEAD_MS - 20);
  expect(endedMs).toBeLessThan(HEAD_MS + LATE_MS);
  expect(await row()).toEqual({ ...NOTHING, upstreamError: GONE });
});

test.each([
  ['before it responded', '', NOTHING],
  ['in the middle of its response', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\none', incompleteResponse('one')],
])('the outcome does not blame an upstream that closes %s after the caller has left', async (when, text, expected) => {
  act = (socket) => text === '' || socket.write(text);
  const { socket, row } = await askAndLeave(text === '' ? '' : 'one');
  setTimeout(() => socket.destroy(), 100);
  expect(await row()).toEqual({ ...expected, upstreamError: `The upstream closed the connection ${when}.` });
});

test('a request that has ended leaves nothing at its connection', () => {
  const connection = { onClosed: new Set<() => void>() } as Partial<CallerConnection> as CallerConnection;
  const exchange = { connection, isGone: false } as Partial<Exchange> as Exchange;
  const waiting = endWithoutCaller(exchange, new AbortController(), { headMsMax: HEAD_MS, bodyMsMax: READ_MS });
  expect(connection.onClosed.size).toBe(1);
  waiting.stop();
  expect(connection.onClosed.size).toBe(0);
});
