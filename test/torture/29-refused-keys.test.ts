import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { AccountConfig } from '@standin/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RawClient } from './raw-client.ts';
import { json, Stand } from './stand.ts';

/**
 * Torture test 29: each request without its project's active key gets a 401 and leaves no row. The response is the same for all
 * keys that are not active.
 */

let stand: Stand;
beforeAll(async () => {
  stand = await Stand.start();
  await stand.publish({ slug: '/a', method: 'POST', action: json('ok') });
});
afterAll(() => stand[Symbol.asyncDispose]());

const head = (keyLines: readonly string[]): string =>
  `POST ${stand.target('/a')} HTTP/1.1\r\nHost: gateway\r\n${keyLines.map((line) => `${line}\r\n`).join('')}Content-Length: 0\r\n\r\n`;
const send = async (client: RawClient, keyLines: readonly string[]) => {
  client.send(head(keyLines));
  const answer = await client.answer();
  if (answer === undefined) throw new Error('no answer');
  return { status: answer.status, code: answer.all('standin-rejected')[0], body: answer.body.toString() };
};

/** Returns a key in the format that the operator generates, with the given checksum. */
const generated = (checksum: string): string => `standin_${randomBytes(40).toString('hex').slice(0, 43)}${checksum}`;

/** Values of the key header that are not an active key. */
const INVALID: readonly (readonly [name: string, key: () => string])[] = [
  ['an unknown key', () => `sk_${randomBytes(16).toString('hex')}`],
  ['a well-formed key', () => generated('0AbCdE')],
  ['a key with a wrong checksum', () => generated('zzzzzz')],
  ['the key with a wrong last character', () => `${stand.own.key.slice(0, -1)}~`],
  ['the key with an additional character', () => `${stand.own.key}0`],
  ['the digest of the key', () => createHash('sha256').update(stand.own.key).digest('hex')],
  ['the value that the log stores', () => stand.own.storedKey],
  ['two keys in one header', () => `${stand.own.key}, ${stand.tenants[1].key}`],
  ['a key of 10 kB', () => 'k'.repeat(10_000)],
  ['an empty key', () => ''],
];

describe('an invalid key', () => {
  test('gets the same response, whatever is wrong with it', async () => {
    using client = await RawClient.connect(stand.port);
    const answers = [];
    for (const [, key] of INVALID) answers.push(await send(client, [`x-api-key: ${key()}`]));
    expect(new Set(answers.map(({ status, code }) => `${status} ${code}`))).toEqual(new Set(['401 api_key_invalid']));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
  });

  test.each<[string, () => readonly string[], string]>([
    ['a repeated key', () => [`x-api-key: ${stand.own.key}`, `x-api-key: ${stand.own.key}`], 'api_key_repeated'],
    ['a repeated key, once wrong', () => ['x-api-key: sk_wrong', `x-api-key: ${stand.own.key}`], 'api_key_repeated'],
    ["another tenant's key", () => [`x-api-key: ${stand.tenants[1].key}`], 'api_key_other_account'],
    ['no key', () => [], 'api_key_missing'],
    ['a key in the wrong header', () => [`authorization: Bearer ${stand.own.key}`], 'api_key_missing'],
  ])('is rejected: %s', async (_how, lines, code) => {
    using client = await RawClient.connect(stand.port);
    expect(await send(client, lines())).toMatchObject({ status: 401, code });
  });

  const ROUNDS = 400;
  /**
   * The maximum ratio of the median times. Only a large difference counts, such as the time for another lookup or a write. Smaller
   * differences are noise.
   */
  const FACTOR_MAX = 3;

  test('is rejected in about the same time, whether it is unknown, malformed or almost correct', async () => {
    using client = await RawClient.connect(stand.port);
    const kinds = INVALID.slice(0, 5);
    const took = new Map<string, number[]>(kinds.map(([name]) => [name, []]));
    // Each round sends every kind of key, so that changes in the machine's load affect all kinds equally.
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, key] of kinds) {
        const lines = [`x-api-key: ${key()}`];
        const since = performance.now();
        await send(client, lines);
        took.get(name)?.push(performance.now() - since);
      }
    }
    const medians = [...took.values()].map((times) => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0);
    expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(FACTOR_MAX);
  });

  test('leaves no row, and the valid key still works', async () => {
    const marker = stand.marker();
    using client = await RawClient.connect(stand.port);
    client.send(stand.head('POST', stand.target('/a', marker), [['Content-Length', '0']]));
    expect((await client.answer())?.status).toBe(200);
    stand.accept(marker);
    // The log contains the row of this request and the row of `verify` itself, and nothing else.
    expect(await stand.verify()).toHaveLength(2);
  });
});

const EXCHANGES = 40;

test('a key that another account takes in the same change is refused and not on disk when the gateway has acknowledged it', async () => {
  /** Returns the digest of each account's key in the copy of the configuration on disk. */
  const storedKeys = async (): Promise<readonly unknown[]> => {
    const text = await readFile(path.join(stand.directory, 'gateway', 'config.ndjson'), 'utf8');
    const lines = text.split('\n').filter((line) => line !== '');
    const objects = lines.map((line) => (JSON.parse(line) as { readonly object?: AccountConfig }).object);
    return stand.accounts.map(({ uid }) => objects.find((object) => object?.uid === uid)?.keySha256);
  };
  const state = { isOver: false };
  const load = async (): Promise<void> => {
    using client = await RawClient.connect(stand.port);
    while (!state.isOver) await send(client, [`x-api-key: ${stand.own.key}`]);
  };
  const loads = Array.from({ length: 8 }, load);
  using client = await RawClient.connect(stand.port);
  for (let round = 1; round <= EXCHANGES; round += 1) {
    await stand.exchangeKeys();
    const answers = [
      await storedKeys(),
      (await send(client, [`x-api-key: ${stand.own.key}`])).status,
      (await send(client, [`x-api-key: ${stand.tenants[1].key}`])).status,
    ];
    const expected = round % 2 === 1 ? [401, 200] : [200, 401];
    expect(answers).toEqual([stand.accounts.map(({ keySha256 }) => keySha256), ...expected]);
  }
  state.isOver = true;
  await Promise.all(loads);
});
