import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '@standin/contract';
import { bodyAsBuffer } from '@standin/exchange';
import { ask, RawClient } from './raw-client.ts';
import { json, Stand } from './stand.ts';

/** Torture test 33: a request at the limit is stored completely. A request above it is not stored at all. */

let stand: Stand;
beforeAll(async () => {
  stand = await Stand.start();
  await stand.publish({ slug: '/a', method: 'POST', action: json('ok') }, { slug: '/a', action: json('ok') });
});
afterAll(() => stand[Symbol.asyncDispose]());

const residentMiB = async (): Promise<number> => {
  const status = await readFile(`/proc/${stand.gateway.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
};

const post = (marker: string, length: string) =>
  stand.head('POST', stand.target('/a', marker), [['Content-Length', length]]);

const patterned = (bytes: number): Buffer => {
  const body = Buffer.alloc(bytes);
  for (let at = 0; at + 4 <= bytes; at += 4) body.writeUInt32LE((at * 2_654_435_761) >>> 0, at);
  return body;
};

const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('bodies', () => {
  test('at exactly the limit are stored completely', async () => {
    const body = patterned(LIMITS.requestBodyBytesMax);
    const marker = stand.marker();
    const answer = await ask(stand.port, Buffer.concat([Buffer.from(post(marker, String(body.length))), body]));
    expect(answer?.status).toBe(200);
    stand.accept(marker);
    expect(sha(bodyAsBuffer((await stand.row(marker)).request))).toBe(sha(body));
  });

  test('that announce one byte over the limit are rejected before they are sent', async () => {
    using client = await RawClient.connect(stand.port);
    client.send(post(stand.marker(), String(LIMITS.requestBodyBytesMax + 1)));
    const answer = await client.answer();
    expect(answer).toMatchObject({ status: 413 });
    expect(answer?.all('standin-rejected')).toEqual(['body_too_large']);
    client.send(Buffer.alloc(1_000_000));
    await client.closed();
  });

  test('with Expect: 100-continue are rejected before they are sent', async () => {
    using client = await RawClient.connect(stand.port);
    client.send(post(stand.marker(), '99999999').replace(/\r\n$/, 'Expect: 100-continue\r\n\r\n'));
    expect((await client.answer())?.status).toBe(413);
  });

  test.each(['9223372036854775808', '18446744073709551615', '18446744073709551616', '99999999999999999999999'])(
    'of %s bytes are rejected',
    async (length) => {
      const answer = await ask(stand.port, post(stand.marker(), length));
      expect([400, 413]).toContain(answer?.status);
      expect(answer?.all('standin-rejected')).toHaveLength(1);
    },
  );

  test('in endless chunks are cut at the limit with constant memory', async () => {
    const before = await residentMiB();
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 'x'), Buffer.from('\r\n')]);
    const one = async () => {
      using client = await RawClient.connect(stand.port);
      client.send(stand.head('POST', stand.target('/a'), [['Transfer-Encoding', 'chunked']]));
      let sent = 0;
      while (client.pending.length === 0 && !client.hasEnded && sent < 4 * LIMITS.requestBodyBytesMax) {
        client.send(chunk);
        sent += chunk.length;
        if (client.socket.writableNeedDrain)
          await Promise.race([new Promise((r) => client.socket.once('drain', r)), client.closed().catch(() => 0)]);
      }
      const answer = await client.answer();
      expect(answer?.status).toBe(413);
      await client.closed();
    };
    for (let round = 0; round < 4; round += 1) await Promise.all(Array.from({ length: 8 }, one));
    // The test sends at least 320 MiB, of which the gateway holds at most 8 × 10 MiB at a time.
    expect((await residentMiB()) - before).toBeLessThan(250);
  });

  test('with one byte over the limit in the last chunk are rejected and not stored', async () => {
    const body = patterned(LIMITS.requestBodyBytesMax);
    const head = stand.head('POST', stand.target('/a'), [['Transfer-Encoding', 'chunked']]);
    const answer = await ask(
      stand.port,
      Buffer.concat([
        Buffer.from(`${head}${body.length.toString(16)}\r\n`),
        body,
        Buffer.from('\r\n1\r\nx\r\n0\r\n\r\n'),
      ]),
    );
    expect(answer?.status).toBe(413);
  });
});

describe('heads', () => {
  const paddedTarget = (bytes: number, marker: string) => {
    const target = `${stand.target('/a', marker)}&`;
    return target + 'x'.repeat(bytes - target.length);
  };

  test('with a target at exactly the limit are accepted', async () => {
    const target = paddedTarget(LIMITS.requestTargetBytesMax, stand.marker());
    expect((await ask(stand.port, stand.head('GET', target)))?.status).toBe(200);
    stand.accept(target.slice(target.indexOf('?') + 1));
  });

  test.each([1, 2_000, 20_000])('with a target %i bytes over the limit are rejected with 414', async (more) => {
    const answer = await ask(
      stand.port,
      stand.head('GET', paddedTarget(LIMITS.requestTargetBytesMax + more, stand.marker())),
    );
    expect(answer?.status).toBe(414);
    expect(answer?.all('standin-rejected')).toEqual(['target_too_long']);
  });

  test.each([
    ['20 kB in one header', [['x-large', 'x'.repeat(20_000)] as const]],
    [
      '20 kB in many headers',
      Array.from({ length: 100 }, (_unused, index) => [`x-${index}`, 'x'.repeat(200)] as const),
    ],
    ['more than 1,000 headers', Array.from({ length: 1_100 }, (_unused, index) => [`h${index}`, 'v'] as const)],
    ['a key of 20 kB', [['x-api-key', 'x'.repeat(20_000)] as const]],
  ])('with %s are rejected with 431', async (_name, headers) => {
    const answer = await ask(stand.port, stand.head('GET', stand.target('/a'), headers));
    expect(answer?.status).toBe(431);
    expect(answer?.all('standin-rejected')).toEqual(['headers_too_large']);
  });

  test('with 15 kB of headers are accepted', async () => {
    const marker = stand.marker();
    const answer = await ask(
      stand.port,
      stand.head('GET', stand.target('/a', marker), [['x-large', 'x'.repeat(15_000)]]),
    );
    expect(answer?.status).toBe(200);
    stand.accept(marker);
  });

  test('that never end are rejected at the limit', async () => {
    using client = await RawClient.connect(stand.port);
    client.send(stand.head('GET', stand.target('/a')).slice(0, -2));
    for (let index = 0; index < 3_000 && client.pending.length === 0 && !client.hasEnded; index += 1) {
      client.send(`x-${index}: ${'x'.repeat(20)}\r\n`);
      await new Promise(setImmediate);
    }
    expect((await client.answer())?.status).toBe(431);
    await client.closed();
  });

  test('with endless trailers are disconnected', async () => {
    using client = await RawClient.connect(stand.port);
    client.send(`${stand.head('POST', stand.target('/a'), [['Transfer-Encoding', 'chunked']])}0\r\n`);
    for (let index = 0; index < 3_000 && client.pending.length === 0 && !client.hasEnded; index += 1) {
      client.send(`x-${index}: ${'x'.repeat(20)}\r\n`);
      await new Promise(setImmediate);
    }
    await client.closed();
  });
});

test('the log contains exactly the accepted requests', async () => {
  await stand.verify();
});
