import fc from 'fast-check';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startDnsServer, type DnsServer } from './dns-server.testing.ts';
import { lookupService, type ServiceAddresses } from './lookup.ts';

const NAME = 'orders.shop.svc.cluster.local';
const MANY = Array.from({ length: 200 }, (_, index) => `10.1.0.${index}`);

let server: DnsServer;
beforeAll(async () => {
  server = await startDnsServer();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  for (const name of Object.keys(server.table)) Reflect.deleteProperty(server.table, name);
});

const ask = (name = NAME) => lookupService(name, [server]);

describe('a Service’s addresses', () => {
  test('are those of both families, queried as an absolute name', async () => {
    server.table[NAME] = { addresses: ['10.0.0.5', 'fd00::5'] };
    const before = server.questions.length;
    expect(await ask()).toEqual({
      isAlias: false,
      addresses: [
        { address: '10.0.0.5', family: 4 },
        { address: 'fd00::5', family: 6 },
      ],
    });
    expect([...server.questions.slice(before)].sort()).toEqual([`A ${NAME} udp`, `AAAA ${NAME} udp`]);
  });

  test('are empty if the name does not exist or has no address', async () => {
    expect(await ask()).toEqual({ isAlias: false, addresses: [] });
    server.table[NAME] = {};
    expect(await ask()).toEqual({ isAlias: false, addresses: [] });
  });

  test('are reported together with an alias, from one message', async () => {
    server.table[NAME] = { alias: 'clickhouse.db.svc.cluster.local', addresses: ['10.0.0.9'] };
    expect(await ask()).toMatchObject({ isAlias: true, addresses: [{ address: '10.0.0.9' }] });
  });

  test('are empty for an alias without a target, which is still reported as an alias', async () => {
    server.table[NAME] = { alias: 'clickhouse.db.svc.cluster.local' };
    expect(await ask()).toEqual({ isAlias: true, addresses: [] });
  });

  test('are fetched over TCP if they do not fit in a datagram', async () => {
    server.table[NAME] = { addresses: MANY, isLong: true };
    const before = server.questions.length;
    expect((await ask()).addresses.map(({ address }) => address)).toEqual(MANY);
    expect(server.questions.slice(before)).toContain(`A ${NAME} tcp`);
  });

  test('are found even if a datagram is lost', async () => {
    server.table[NAME] = { addresses: ['10.0.0.5'], lost: 1 };
    expect((await ask()).addresses).toHaveLength(1);
  });

  test('come from the next server if one refuses the query', async () => {
    await using broken = await startDnsServer({ [NAME]: { code: 2 } });
    server.table[NAME] = { addresses: ['10.0.0.5'] };
    expect((await lookupService(NAME, [broken, server])).addresses).toHaveLength(1);
  });
});

describe('a lookup', () => {
  test('fails if every server fails', async () => {
    server.table[NAME] = { code: 2 };
    await expect(ask()).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    await expect(lookupService(NAME, [])).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });

  test.each(['a..b', 'x'.repeat(64), Array.from({ length: 130 }, () => 'a').join('.')])(
    'fails for an invalid name (%s)',
    async (name) => {
      await expect(ask(name)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    },
  );

  test('never hangs or crashes if a server sends arbitrary bytes', async () => {
    const hostile = createSocket('udp4');
    let rest = Buffer.alloc(0);
    hostile.on('message', (query, from) => {
      // The id, the question, the response flag and the number of answers (3) are correct. The answers are generated.
      const message = Buffer.concat([query, rest]);
      message.writeUInt8(0x81, 2);
      message.writeUInt16BE(3, 6);
      hostile.send(message, from.port, from.address);
    });
    hostile.bind(0, '127.0.0.1');
    await once(hostile, 'listening');
    const { port } = hostile.address();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), async (bytes) => {
        rest = Buffer.from(bytes);
        const found = await lookupService(NAME, [{ address: '127.0.0.1', port }]).catch((error: unknown) => error);
        if (found instanceof Error) expect(found).toMatchObject({ code: 'EAI_AGAIN' });
        else for (const { address } of (found as ServiceAddresses).addresses) expect(isIP(address)).not.toBe(0);
      }),
      { numRuns: 100 },
    );
    hostile.close();
  });
});
