import { usedBytes } from '@standin/egress/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchMetrics, HOST, PATH, request, startTestGateway, WITH_KEY, type TestGateway } from './gateway.testing.ts';
import { exchange, RawClient, rejectionCode } from './raw-client.testing.ts';

/** Beyond this number, the chunks of a body must average at least 64 bytes. */
const SMALL_CHUNKS_MAX = 65_536;
const LAST_CHUNK = '0\r\n\r\n';

let stand: TestGateway;
beforeAll(async () => {
  stand = await startTestGateway();
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
});

const head = (target: string, ...lines: string[]): string =>
  request('POST', target, [HOST, 'Transfer-Encoding: chunked', ...lines]);
const chunks = (count: number, bytes = 1): string => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`.repeat(count);

const bytesHeld = async (): Promise<number> => {
  const metrics = await fetchMetrics(stand.gateway);
  return Number(/^standin_receive_held_bytes (\d+)$/m.exec(metrics)?.[1]);
};

describe('a body in chunks of one byte', () => {
  // If each chunk were kept as an object, a body of 10 MiB would take 5 GB.
  test('needs little more memory than its bytes while it arrives', async () => {
    const COUNT = 60_000;
    const before = usedBytes();
    const clients = await Promise.all(Array.from({ length: 4 }, () => RawClient.connect(stand.gateway.url)));
    for (const client of clients) client.send(head(PATH, WITH_KEY) + chunks(COUNT));
    // The held bytes include the heads.
    await expect.poll(bytesHeld, { timeout: 15_000 }).toBeGreaterThan(clients.length * COUNT);
    expect(usedBytes() - before).toBeLessThan(30 * clients.length * COUNT);
    for (const client of clients) client.send(LAST_CHUNK);
    for (const client of clients) {
      expect((await client.responses())[0]?.status).toBe(200);
      client.destroy();
    }
  });

  test('is stored whole up to the limit', async () => {
    const response = await exchange(
      stand.gateway.url,
      head(`${PATH}?whole`, WITH_KEY) + chunks(SMALL_CHUNKS_MAX) + LAST_CHUNK,
    );
    expect(response.status).toBe(200);
    const isStored = ({ rows }: TestGateway['sink']) => rows.some(({ query }) => query === 'whole');
    await stand.sink.until(isStored);
    expect(stand.sink.rows.find(({ query }) => query === 'whole')?.requestBody).toHaveLength(SMALL_CHUNKS_MAX);
  });

  test('is refused beyond the limit, and the connection closes', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(head(PATH, WITH_KEY) + chunks(2 * SMALL_CHUNKS_MAX));
    const [response] = await client.responses();
    expect([response?.status, rejectionCode(response)]).toEqual([400, 'chunks_too_small']);
    await client.closed();
    expect(await bytesHeld()).toBe(0);
  });

  test('ends the connection if the request is already refused', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(head(PATH));
    expect((await client.responses())[0]?.status).toBe(401);
    client.send(chunks(2 * SMALL_CHUNKS_MAX));
    const [, second] = await client.responses(2);
    expect(rejectionCode(second)).toBe('chunks_too_small');
    await client.closed();
  });

  test('does not reduce the limit of the next body on its connection', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    for (const count of [1, 2]) {
      client.send(head(PATH, WITH_KEY) + chunks(SMALL_CHUNKS_MAX) + LAST_CHUNK);
      expect((await client.responses(count)).at(-1)?.status).toBe(200);
    }
    client.destroy();
  });
});

test('a body in many chunks of 64 bytes is accepted', async () => {
  const response = await exchange(stand.gateway.url, head(PATH, WITH_KEY) + chunks(100_000, 64) + LAST_CHUNK);
  expect(response.status).toBe(200);
});
