import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { EndpointConfig } from '@standin/contract';
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
import { exchange, RawClient, rejectionCode } from '../raw-client.testing.ts';
import { FaultyDisk } from '../record/spool/spool.testing.ts';

/** Tests the headers from Secrets of one endpoint. The tests build on each other, in order. */

const [FIRST, SECOND] = ['Bearer first-secret', 'Bearer second-secret'];
const [FIRST_ID, SECOND_ID] = ['team-a/up/token@1', 'team-a/up/token@2'];

let seen: (string | undefined)[] = [];
const upstream = createServer((incoming, response) => {
  seen.push(incoming.headers.authorization);
  response.end('{}');
});
const disk = new FaultyDisk();
let stand: TestGateway;

const forward = (secretId: string | undefined): EndpointConfig => {
  const requestHeaders = { set: [['x-plain', 'plain'] as const], remove: ['cookie'] };
  const secretHeaders = [secretId === undefined ? { name: 'Authorization' } : { name: 'Authorization', secretId }];
  const action = { kind: 'Forward', url: `${serverUrl(upstream)}/`, requestHeaders, secretHeaders } as const;
  const conditional = {
    name: 'mocked',
    pathParams: [],
    headers: [],
    queryParams: [],
    cel: 'request.query["mock"] == "1"',
  };
  const mock = { status: 200, headers: [], body: '{"mocked":true}', bodyEncoding: 'utf8' } as const;
  return endpoint('/up', action, { responses: [{ ...conditional, mock }] });
};

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  stand = await startTestGateway({
    settings: { egress: { allowPrivate: true } },
    spoolDisk: disk,
    objects: [...BASIC_OBJECTS, forward(FIRST_ID)],
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  upstream.closeAllConnections();
  upstream.close();
});

const LINES = [HOST, WITH_KEY, 'authorization: Basic own', 'Connection: authorization'];
/** Returns the status, and the code of a rejection. */
const ask = async (query = ''): Promise<string> => {
  const { status, headers } = await exchange(stand.gateway.url, request('POST', `/${URI}/up?${query}`, LINES, ''));
  const code = headers.find(([name]) => name.toLowerCase() === 'standin-rejected')?.[1] ?? '';
  return `${status} ${code}`.trim();
};

test('a gateway that does not have the value sends nothing to the upstream', async () => {
  expect(await ask()).toBe('503 not_ready');
  expect(await ask('mock=1')).toBe('200');
  expect(seen).toEqual([]);
});

test('the upstream gets the value in place of the caller’s header, and the log has the caller’s', async () => {
  await stand.operator.publish([], [], { [FIRST_ID]: FIRST });
  expect(await ask('row')).toBe('200');
  expect(seen).toEqual([FIRST]);
  await stand.sink.until(({ rows }) => rows.some(({ query, version }) => query === 'row' && version === 2));
  expect(JSON.stringify(stand.sink.rows)).not.toContain('first-secret');
  expect(JSON.stringify(stand.sink.rows)).toContain('Basic own');
});

test('a new value replaces the previous one', async () => {
  await stand.operator.publish([forward(SECOND_ID)], [], { [SECOND_ID]: SECOND }, [FIRST_ID]);
  seen = [];
  expect(await ask()).toBe('200');
  expect(seen).toEqual([SECOND]);
});

test('neither value is on the disk of the gateway', async () => {
  const copy = join(stand.dataDir, 'config.ndjson');
  const text = async () => readFile(copy, 'utf8').catch(() => '');
  await expect.poll(text, { timeout: 10_000 }).toContain(SECOND_ID);
  expect(await text()).not.toMatch(/first-secret|second-secret/);
  for (const value of [FIRST, SECOND]) expect(await text()).not.toContain(Buffer.from(value).toString('base64'));
});

test('a value to which the endpoint no longer refers is not sent, although another endpoint has it', async () => {
  const other = { ...forward(SECOND_ID), uid: 'other', name: 'other', slug: '/other' };
  seen = [];
  const client = await RawClient.connect(stand.gateway.url);
  client.send(request('POST', `/${URI}/up`, [...LINES, 'content-length: 1', 'expect: 100-continue']));
  await expect.poll(() => client.received.toString()).toContain('100 Continue');
  await stand.operator.publish([other, forward('team-a/up/token@3')]);
  client.send('x');
  const [response] = await client.responses();
  client.destroy();
  expect(rejectionCode(response)).toBe('not_ready');
  expect(seen).toEqual([]);
});

test('a value that is withdrawn while the request is written to the disk is not sent', async () => {
  await stand.operator.publish([forward(SECOND_ID)]);
  const written = Promise.withResolvers<undefined>();
  const appends = disk.appends;
  disk.onAppend = async () => {
    await written.promise;
    return undefined;
  };
  const asked = ask();
  await expect.poll(() => disk.appends).toBeGreaterThan(appends);
  await stand.operator.publish([forward('team-a/up/token@3')]);
  written.resolve(undefined);
  expect(await asked).toBe('502');
  expect(seen).toEqual([]);
});

test('without a usable Secret, requests for the upstream are refused, and mocks respond', async () => {
  await stand.operator.publish([forward(undefined)], [], {}, [SECOND_ID]);
  seen = [];
  expect([await ask('refused'), await ask('mock=1')]).toEqual(['503 endpoint_not_accepted', '200']);
  expect(seen).toEqual([]);
  const mocked = (): number => stand.sink.rows.filter(({ query }) => query === 'mock=1').length;
  await stand.sink.until(() => mocked() === 2);
  expect(stand.sink.rows.filter(({ query }) => query === 'refused')).toEqual([]);
});
