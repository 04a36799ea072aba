import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { BodyRefusal, bodyReader, discardRest } from './request-bodies.ts';

const BYTES_MAX = 1_000;

/** Reads each body with `bodyReader` and responds with its length, or with the reason why it is rejected. The path is the holder. */
const startReader = async (heldBytesMax?: number) => {
  const read = bodyReader(heldBytesMax === undefined ? {} : { heldBytesMax });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let bytes = 0;
    const findHolder = () => Promise.resolve(request.url ?? '');
    try {
      for await (const chunk of read(request, response, { bytesMax: BYTES_MAX, findHolder })) {
        bytes += chunk.length;
        server.emit('read', bytes);
      }
      response.end(String(bytes));
    } catch (error) {
      response.end(error instanceof BodyRefusal ? error.kind : 'gone');
    }
  };
  const server = createServer((request, response) => void answer(request, response)).on('request', discardRest);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    server,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const post = async (
  port: number,
  headers: Record<string, string | number>,
  body: Buffer,
  path = '/',
): Promise<string> => {
  const outgoing = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers, path });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  outgoing.end(body);
  return text((await answered)[0]);
};
const CHUNKED = { 'transfer-encoding': 'chunked' };

it.each([
  [BYTES_MAX, String(BYTES_MAX)],
  [BYTES_MAX + 1, 'too_large'],
  [1_000_000, 'too_large'],
])('a body of %d bytes gets %s, with a Content-Length or in chunks', async (bytes, answer) => {
  await using reader = await startReader();
  expect(await post(reader.port, { 'content-length': bytes }, Buffer.alloc(bytes))).toBe(answer);
  expect(await post(reader.port, CHUNKED, Buffer.alloc(bytes))).toBe(answer);
});

it('a Content-Length over the limit is refused before the body arrives', async () => {
  await using reader = await startReader();
  const socket = connect(reader.port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 200000000\r\n\r\n');
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString()).toContain('too_large');
  socket.destroy();
});

it('a connection is reused after a refused body has arrived', async () => {
  await using reader = await startReader();
  const socket = connect(reader.port, '127.0.0.1');
  const body = 'x'.repeat(BYTES_MAX + 1);
  const head = (length: number): string => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`;
  socket.write(`${head(body.length)}${body}${head(2)}ok`);
  let received = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    received += chunk.toString();
    if (received.endsWith('\r\n\r\n2')) break;
  }
  expect(received).toContain('too_large');
});

it.each([
  ['with a Content-Length', 'content-length: 200000000\r\n\r\n', 'x'],
  ['in chunks', `transfer-encoding: chunked\r\n\r\n7d0\r\n${'x'.repeat(2_000)}\r\n`, '1\r\nx\r\n'],
])(
  'a client is disconnected if it keeps sending a body %s after the response',
  { timeout: 20_000 },
  async (_, head, more) => {
    await using reader = await startReader();
    const socket = connect(reader.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${head}`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toContain('too_large');
    const dripping = setInterval(() => socket.write(more), 100);
    // A reset also closes the socket, but `once` from node:events would reject.
    await new Promise((resolve) => socket.resume().once('close', resolve));
    clearInterval(dripping);
  },
);

it('a holder has a share of the memory for all bodies, which includes each body until its response is closed', async () => {
  await using reader = await startReader(2_400);
  const first = connect(reader.port, '127.0.0.1');
  first.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${BYTES_MAX}\r\n\r\n${'x'.repeat(BYTES_MAX - 1)}`);
  await once(reader.server, 'read');
  expect(await post(reader.port, CHUNKED, Buffer.alloc(600))).toBe('busy');
  expect(await post(reader.port, CHUNKED, Buffer.alloc(400))).toBe('400');
  expect(await post(reader.port, CHUNKED, Buffer.alloc(BYTES_MAX), '/other')).toBe(String(BYTES_MAX));
  first.destroy();
  await expect.poll(() => post(reader.port, CHUNKED, Buffer.alloc(BYTES_MAX))).toBe(String(BYTES_MAX));
});
