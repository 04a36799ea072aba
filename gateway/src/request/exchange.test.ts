import { once } from 'node:events';
import { createServer, get, IncomingMessage, ServerResponse } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { Exchange, type CallerConnection } from './exchange.ts';

const TIMEOUT_MS = 1_000;
/** Far more than the buffers of the operating system hold. */
const BODY = Buffer.alloc(64 * 1024 * 1024);

test('a response whose caller reads it slowly ends with the exchange, although the caller never stops reading', async () => {
  const server = createServer((request, response) => {
    const { socket } = request;
    const connection = {
      socket,
      peerAddress: '',
      namespace: '',
      place: undefined,
      arriving: undefined,
      onClosed: new Set<() => void>(),
    };
    const limits = { responseStallTimeoutMs: 500, exchangeTimeoutMs: TIMEOUT_MS };
    const exchange = new Exchange(request, response, { connection, ...limits });
    exchange.hasUnreadBody = false;
    exchange.decide(false);
    exchange.respond(200, [['content-length', String(BODY.length)]], BODY);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const startedMs = performance.now();
  const open = once(server, 'connection');
  const request = get({ port: (server.address() as AddressInfo).port, agent: false });
  const [socket] = (await open) as [Socket];
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // At this rate, the response takes more than a minute.
  response.on('error', () => undefined).on('data', () => response.pause());
  const timer = setInterval(() => response.resume(), 50);
  await once(socket, 'close');
  clearInterval(timer);
  expect(performance.now() - startedMs).toBeGreaterThan(TIMEOUT_MS - 20);
  expect(performance.now() - startedMs).toBeLessThan(10 * TIMEOUT_MS);
  request.destroy();
  server.close();
});

test.each<[string, (response: ServerResponse, connection: CallerConnection) => void]>([
  ['it is sent', (response) => response.emit('finish')],
  [
    'the connection is closed',
    (_, { onClosed }) => {
      for (const closed of onClosed) closed();
    },
  ],
])('what waits for a response to be sent is called once, and leaves nothing, when %s', (_, end) => {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const connection = { onClosed: new Set<() => void>() } as Partial<CallerConnection> as CallerConnection;
  const limits = { responseStallTimeoutMs: 500, exchangeTimeoutMs: TIMEOUT_MS };
  let calls = 0;
  new Exchange(request, response, { connection, ...limits }).whenSent(() => (calls += 1));
  end(response, connection);
  expect([calls, connection.onClosed.size, response.listenerCount('finish')]).toEqual([1, 0, 0]);
});
