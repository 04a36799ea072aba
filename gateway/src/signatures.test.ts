import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  WITHHELD_CREDENTIAL,
  type CredentialConfig,
  type EndpointConfig,
  type SignatureConfig,
} from '@standin/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  endpoint,
  fetchMetrics,
  HOST,
  KEY,
  PATH,
  request,
  sha256,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from './gateway.testing.ts';
import { exchange, RawClient, rejectionCode, responseHeader, type RawResponse } from './raw-client.testing.ts';
import type { RejectedRequest } from './request/refusal.ts';

const SECRET = "It's a Secret to Everybody";
const OTHER_SECRET = 'another secret';
const URI_PATH = `/${URI}`;
const HOOK = `${URI_PATH}/hook`;
const BODY = 'Hello, World!';
const UNAUTHENTICATED_BYTES = 64 * 1024;

const credential = (
  signature: SignatureConfig = { scheme: 'GitHub' },
  secretIds: readonly string[] = ['new', 'old'],
): CredentialConfig => ({ kind: 'Signature', signature, secretIds });

const hook = (more: Partial<EndpointConfig> = {}): EndpointConfig =>
  endpoint('/hook', {}, { credential: credential(), ...more });

const secrets = { new: SECRET, old: OTHER_SECRET };

const signed = (body: string, secret = SECRET): string =>
  `X-Hub-Signature-256: sha256=${createHmac('sha256', secret).update(body, 'latin1').digest('hex')}`;

/** A request without a key to the endpoint, signed as GitHub does. */
const delivery = (body = BODY, lines: readonly string[] = [signed(body)]): string =>
  request('POST', HOOK, [HOST, ...lines, `Content-Length: ${body.length}`], body);

let stand: TestGateway;
const told: RejectedRequest[] = [];

beforeEach(async () => {
  told.length = 0;
  const limits = { unauthenticatedBytes: UNAUTHENTICATED_BYTES, unauthenticatedRequests: 3, requestTimeoutMs: 1_500 };
  stand = await startTestGateway({ settings: { limits }, onRejected: (rejected) => told.push(rejected) });
  await stand.operator.publish([hook()], [], secrets);
});
afterEach(() => stand[Symbol.asyncDispose]());

const send = (bytes: string): Promise<RawResponse> => exchange(stand.gateway.url, bytes);

const metric = async (name: string): Promise<number> => {
  const text = await fetchMetrics(stand.gateway);
  return Number(new RegExp(`^standin_verify_${name} (.*)$`, 'm').exec(text)?.[1]);
};
const usedIn = (unit: 'bytes' | 'requests'): Promise<number> => metric(`unauthenticated_${unit}`);

/** Sends a request that is accepted. Resolves with all rows when its row is in the log. */
const rowsAfter = async (target = `${PATH}?last`) => {
  expect((await send(request('POST', target, [HOST, WITH_KEY]))).status).toBe(200);
  await stand.sink.until(({ rows }) => rows.some((row) => row.target === target));
  return stand.sink.rows;
};

test("GitHub's documented example is accepted, and the row names the credential and the delivery", async () => {
  const documented = 'X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  expect(
    (await send(delivery(BODY, [documented, 'X-GitHub-Delivery: 72d3162e-cc78-11e3-81ab-4c9367dc0958']))).status,
  ).toBe(200);
  expect(
    (await rowsAfter()).map(({ path, credential, keyFingerprint, deliveryId }) => [
      path,
      credential,
      keyFingerprint,
      deliveryId,
    ]),
  ).toEqual([
    ['/hook', 'signature', '', '72d3162e-cc78-11e3-81ab-4c9367dc0958'],
    ['/v1/orders', 'key', sha256(KEY).slice(0, 8), ''],
  ]);
});

test('both secrets are accepted, and a body in chunks', async () => {
  const chunked = request(
    'POST',
    HOOK,
    [HOST, signed('ab', OTHER_SECRET), 'Transfer-Encoding: chunked'],
    '1\r\na\r\n1\r\nb\r\n0\r\n\r\n',
  );
  expect((await send(chunked)).status).toBe(200);
  expect((await send(delivery('', [signed('', OTHER_SECRET)]))).status).toBe(200);
});

describe('a request without a key is refused with one response, and is neither logged nor counted:', () => {
  test.each<[string, string]>([
    ['without a signature', delivery(BODY, [])],
    ['with the signature of another body', delivery(`${BODY}!`, [signed(BODY)])],
    ['with a signature by another secret', delivery(BODY, [signed(BODY, 'guess')])],
    ['with a repeated signature', delivery(BODY, [signed(BODY), signed(BODY)])],
    ['with a malformed signature', delivery(BODY, ['X-Hub-Signature-256: sha256=xyz'])],
  ])('%s', async (_name, bytes) => {
    const response = await send(bytes);
    const known = await send(delivery(BODY, []));
    expect([response.status, rejectionCode(response)]).toEqual([401, 'signature_invalid']);
    expect(response.body).toEqual(known.body);
    expect(response.headers.filter(([name]) => name !== 'date')).toEqual(
      known.headers.filter(([name]) => name !== 'date'),
    );
    expect((await rowsAfter()).map(({ path }) => path)).toEqual(['/v1/orders']);
    expect(told.map(({ code, path }) => [code, path])).toEqual([
      ['signature_invalid', HOOK],
      ['signature_invalid', HOOK],
    ]);
  });

  test('with a stale timestamp', async () => {
    await stand.operator.publish([hook({ credential: credential({ scheme: 'Stripe', toleranceMs: 60_000 }) })]);
    const at = (seconds: number): string => {
      const digest = createHmac('sha256', SECRET).update(`${seconds}.${BODY}`).digest('hex');
      return delivery(BODY, [`Stripe-Signature: t=${seconds},v1=${digest}`]);
    };
    const now = Math.floor(Date.now() / 1_000);
    expect((await send(at(now))).status).toBe(200);
    expect(rejectionCode(await send(at(now - 70)))).toBe('signature_invalid');
    expect(rejectionCode(await send(at(now + 70)))).toBe('signature_invalid');
  });
});

describe('a request with a key is judged by the key alone:', () => {
  test.each<[string, readonly string[], number | string]>([
    ['a valid key without a signature', [WITH_KEY], 200],
    ['a valid key with a wrong signature', [WITH_KEY, signed('x')], 200],
    ['a wrong key with a valid signature', ['x-api-key: wrong', signed(BODY)], 'api_key_invalid'],
    ['an empty key with a valid signature', ['x-api-key:', signed(BODY)], 'api_key_invalid'],
    ['two keys with a valid signature', [WITH_KEY, WITH_KEY, signed(BODY)], 'api_key_repeated'],
    ['a key in another case with a valid signature', [`X-Api-Key: ${KEY}`, signed(BODY)], 'api_key_header_name'],
  ])('%s', async (_name, lines, expected) => {
    const response = await send(delivery(BODY, lines));
    expect(rejectionCode(response) ?? response.status).toBe(expected);
  });
});

test('without a key, all other requests get the bytes that they get without any signatures, before their body is sent', async () => {
  await using plain = await startTestGateway();
  const others = [endpoint('/hook/plain'), hook({ uid: 'pattern', slug: '/in/{id}', name: 'pattern' })];
  await stand.operator.publish(others);
  await plain.operator.publish([endpoint('/hook'), endpoint('/hook/plain')]);
  const targets = [
    '/',
    PATH,
    '/unknown/hook',
    ...['', '/none', '/hook/plain', '/hook/', '/HOOK', '/in/'].map((path) => URI_PATH + path),
  ];
  const framings = [
    ['Content-Length: 13'],
    ['Transfer-Encoding: chunked'],
    ['Content-Length: 13', 'Expect: 100-continue'],
    [`Content-Length: ${100 * 1024 * 1024}`],
    ['Connection: close'],
    [],
  ];
  const ways: readonly (readonly [method: string, target: string])[] = [
    ...targets.map((target) => ['POST', target] as const),
    ...['GET', 'OPTIONS', 'PURGE'].map((method) => [method, HOOK] as const),
  ];
  const requests = ways.flatMap(([method, target]) =>
    framings.map((lines) => request(method, target, [HOST, signed(BODY), ...lines])),
  );
  const exchangedBytes = async (url: string, bytes: string): Promise<string> => {
    const client = await RawClient.connect(url);
    client.send(bytes);
    await client.responses();
    client.destroy();
    return client.received.toString('latin1').replace(/(date: ).*/, '$1');
  };
  for (const bytes of [...requests, request('POST', PATH, [HOST]).replace('HTTP/1.1', 'HTTP/1.0')]) {
    const response = await exchangedBytes(stand.gateway.url, bytes);
    expect(response).toContain('standin-rejected: api_key_missing');
    expect(response).toBe(await exchangedBytes(plain.gateway.url, bytes));
  }
});

describe('the body', () => {
  test('is asked for with 100 Continue only if the head could be valid', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    const expecting = (line: string): string =>
      request('POST', HOOK, [HOST, line, 'Content-Length: 13', 'Expect: 100-continue']);
    client.send(expecting(signed(BODY)));
    await expect.poll(() => client.received.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    client.send(BODY);
    expect((await client.responses())[0]?.status).toBe(200);
    client.destroy();
    const refused = await send(expecting('X-Other: a'));
    expect([rejectionCode(refused), responseHeader(refused, 'connection')]).toEqual(['signature_invalid', 'close']);
  });

  test('that arrives too slowly is refused', async () => {
    const response = await send(
      delivery('', [signed(BODY), 'Transfer-Encoding: chunked']).replace('Content-Length: 0\r\n', ''),
    );
    expect(rejectionCode(response)).toBe('request_timeout');
  });

  test('takes the place of the oldest one beyond a limited number, and requests with a key need none', async () => {
    const slow = await Promise.all([1, 2, 3].map(() => RawClient.connect(stand.gateway.url)));
    const [oldest] = slow;
    for (const client of slow) {
      client.send(request('POST', HOOK, [HOST, signed(BODY), 'Content-Length: 13'], 'Hello'));
      await expect.poll(async () => usedIn('requests')).toBe(Math.min(2, slow.indexOf(client) + 1));
    }
    const displaced = (await oldest?.responses())?.[0];
    expect(displaced && [displaced.status, rejectionCode(displaced)]).toEqual([503, 'overloaded']);
    expect(displaced && [responseHeader(displaced, 'retry-after'), responseHeader(displaced, 'connection')]).toEqual([
      '1',
      'close',
    ]);
    expect((await send(delivery(BODY, [WITH_KEY]))).status).toBe(200);
    for (const client of slow.slice(1)) client.send(', World!');
    for (const client of slow.slice(1)) expect((await client.responses())[0]?.status).toBe(200);
    expect([await usedIn('requests'), await usedIn('bytes'), await metric('displaced_total')]).toEqual([0, 0, 1]);
    const [gone] = await Promise.all([1, 2].map(() => RawClient.connect(stand.gateway.url)));
    gone?.send(request('POST', HOOK, [HOST, signed(BODY), 'Content-Length: 13'], 'Hello'));
    await expect.poll(() => usedIn('requests')).toBe(1);
    gone?.destroy();
    for (const client of slow) client.destroy();
    await expect.poll(() => usedIn('requests')).toBe(0);
    expect(await usedIn('bytes')).toBe(0);
  });

  test('takes memory of its own as it is received, and frees it', async () => {
    const large = 'x'.repeat(40 * 1024);
    const begin = async (body: string): Promise<RawClient> => {
      const client = await RawClient.connect(stand.gateway.url);
      client.send(request('POST', HOOK, [HOST, signed(large), 'Content-Length: 60000'], body));
      return client;
    };
    const stalled = await begin(large);
    await expect.poll(() => usedIn('bytes')).toBeGreaterThan(large.length);
    expect((await send(delivery(large))).status).toBe(200);
    const [displaced] = await stalled.responses();
    expect(rejectionCode(displaced)).toBe('overloaded');
    // The request that needs the room can be the oldest itself.
    const growing = await begin('a declared length takes none');
    const newer = await begin(large);
    await expect.poll(() => usedIn('bytes')).toBeGreaterThan(large.length);
    growing.send(large);
    const [grown] = await growing.responses();
    expect(rejectionCode(grown)).toBe('overloaded');
    newer.destroy();
    await expect.poll(() => usedIn('bytes')).toBe(0);
    for (let at = 0; at < 5; at++) expect((await send(delivery(large))).status).toBe(200);
    for (let at = 0; at < 5; at++)
      expect(rejectionCode(await send(delivery(large, [signed('')])))).toBe('signature_invalid');
    expect(await usedIn('bytes')).toBe(0);
  });
});

test('a withheld endpoint responds with 503 without a key only if it accepts signatures', async () => {
  const action = { kind: 'Withheld' } as const;
  await stand.operator.publish([hook({ action, credential: WITHHELD_CREDENTIAL })]);
  for (const lines of [[], [signed(BODY)], [WITH_KEY]]) {
    const response = await send(delivery(BODY, lines));
    expect([response.status, rejectionCode(response), responseHeader(response, 'retry-after')]).toEqual([
      503,
      'not_ready',
      '1',
    ]);
  }
  await stand.operator.publish([{ ...endpoint('/hook'), action }]);
  expect(rejectionCode(await send(delivery()))).toBe('api_key_missing');
});

test('an endpoint with a mistake responds with 503 to callers with the key, and with 401 to others', async () => {
  await stand.operator.publish([{ ...endpoint('/hook'), action: { kind: 'NotAccepted' } }]);
  const withKey = await send(delivery(BODY, [WITH_KEY]));
  expect([withKey.status, rejectionCode(withKey), responseHeader(withKey, 'retry-after')]).toEqual([
    503,
    'endpoint_not_accepted',
    '1',
  ]);
  for (const lines of [[], [signed(BODY)]]) {
    const response = await send(delivery(BODY, lines));
    expect([response.status, rejectionCode(response)]).toEqual([401, 'api_key_missing']);
  }
});

describe('a secret', () => {
  test('that is removed while a body arrives is no longer accepted, and is acknowledged', async () => {
    const client = await RawClient.connect(stand.gateway.url);
    client.send(request('POST', HOOK, [HOST, signed(BODY, OTHER_SECRET), 'Content-Length: 13'], 'Hello'));
    await stand.operator.publish([hook({ credential: credential(undefined, ['new']) })]);
    client.send(', World!');
    const [response] = await client.responses();
    expect(rejectionCode(response)).toBe('signature_invalid');
    client.destroy();
    expect((await send(delivery())).status).toBe(200);
  });

  test('is not accepted if the endpoint has none, or no longer asks for signatures', async () => {
    await stand.operator.publish([hook({ credential: credential(undefined, []) })]);
    expect(rejectionCode(await send(delivery()))).toBe('signature_invalid');
    await stand.operator.publish([endpoint('/hook')]);
    expect(rejectionCode(await send(delivery()))).toBe('api_key_missing');
  });

  test('that the gateway does not have makes it not ready, but only for signed requests', async () => {
    await stand.operator.publish([hook({ credential: credential(undefined, ['new', 'later']) })]);
    const response = await send(delivery());
    expect([response.status, rejectionCode(response), responseHeader(response, 'retry-after')]).toEqual([
      503,
      'not_ready',
      '1',
    ]);
    expect((await send(delivery(BODY, [WITH_KEY]))).status).toBe(200);
    await stand.operator.publish([], [], { later: 'later' });
    expect((await send(delivery(BODY, [signed(BODY, 'later')]))).status).toBe(200);
  });

  test('is not in the copy on disk', async () => {
    const copy = (): Promise<string> => readFile(join(stand.dataDir, 'config.ndjson'), 'utf8');
    await expect.poll(copy, { timeout: 5_000 }).toContain('"secretIds":["new","old"]');
    for (const value of Object.values(secrets)) {
      expect(await copy()).not.toContain(value);
      expect(await copy()).not.toContain(Buffer.from(value).toString('base64'));
    }
  });
});

test('a token reaches neither the log, nor an expression, nor the upstream, regardless of the credential', async () => {
  const token = 'a-long-token-0123456789';
  const shown = `sha256:${sha256(token).slice(0, 8)}`;
  const template = { template: 'CEL', body: '{"seen": ${request.headers["x-gitlab-token"]}}' } as const;
  await stand.operator.publish(
    [
      hook({
        ...endpoint('/hook', template),
        credential: credential({ scheme: 'Token', header: 'x-gitlab-token' }, ['token']),
      }),
    ],
    [],
    { token },
  );
  const bytes = (...lines: string[]): string => delivery(BODY, [...lines, `X-Gitlab-Token: ${token}`]);
  for (const response of [await send(bytes()), await send(bytes(WITH_KEY))]) {
    expect(JSON.parse(response.body.toString())).toEqual({ seen: shown });
  }
  const rows = (await rowsAfter()).filter(({ path }) => path === '/hook');
  expect(rows.map(({ credential: kind }) => kind)).toEqual(['signature', 'key']);
  for (const { requestHeaders } of rows) expect(requestHeaders).toContainEqual(['X-Gitlab-Token', shown]);
  expect(rejectionCode(await send(delivery(BODY, ['X-Gitlab-Token: guess'])))).toBe('signature_invalid');
});
