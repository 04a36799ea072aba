import { once } from 'node:events';
import { connect } from 'node:net';
import type { RejectionCode } from '@standin/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  BASIC_OBJECTS,
  endpoint,
  HOST,
  KEY,
  OTHER_KEY,
  PATH,
  request,
  startTestGateway,
  URI,
  WITH_KEY,
  type TestGateway,
} from './gateway.testing.ts';
import type { RejectedRequest } from './request/refusal.ts';
import { exchange, RawClient, rejectionCode, responseHeader, type RawResponse } from './raw-client.testing.ts';

const BODY_MAX = 64 * 1024;

const objects = [...BASIC_OBJECTS, endpoint('/v1/orders', {}, { method: 'GET' }), endpoint('/only-post')];

let stand: TestGateway;
/** The refusals that the embedding process has received. */
const told: RejectedRequest[] = [];
beforeAll(async () => {
  stand = await startTestGateway({
    objects,
    onRejected: (rejected) => told.push(rejected),
    settings: { limits: { requestBodyBytes: BODY_MAX, requestHeadTimeoutMs: 400, requestTimeoutMs: 900 } },
  });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
});

const send = (method: string, target: string, lines: readonly string[] = [], body = '') =>
  exchange(stand.gateway.url, request(method, target, [HOST, WITH_KEY, ...lines], body));

test('onRejected receives each refused request, without its query', async () => {
  const bytes = [
    request('PUT', `${PATH}/refused?token=secret`, [HOST, 'x-api-key: sk_wrong']),
    request('POST', `${PATH}#secret?x`, [HOST, WITH_KEY]),
    'hello\r\n\r\n',
    request('CONNECT', 'gateway:443', [HOST, WITH_KEY]),
  ];
  const before = told.length;
  for (const one of bytes) await exchange(stand.gateway.url, one);
  await send('POST', `/${URI}/v1/orders?accepted`);
  expect(told.slice(before)).toEqual([
    { code: 'api_key_invalid', status: 401, method: 'PUT', path: `${PATH}/refused` },
    { code: 'target_invalid', status: 400, method: 'POST', path: PATH },
    { code: 'bad_request', status: 400, method: '', path: '' },
    { code: 'target_invalid', status: 400, method: '', path: '' },
  ]);
});

test.each(['hangs up', 'continues with chunks that are not HTTP'])(
  'a caller that gets 413 and %s is counted once',
  async (what) => {
    const before = told.length;
    const client = await RawClient.connect(stand.gateway.url);
    const framing = what === 'hangs up' ? `content-length: ${BODY_MAX + 1}` : 'transfer-encoding: chunked';
    const body = what === 'hangs up' ? 'abc' : `${(BODY_MAX + 1).toString(16)}\r\n${'x'.repeat(BODY_MAX + 1)}`;
    client.send(request('POST', PATH, [HOST, WITH_KEY, framing], body));
    await expect.poll(() => told.length).toBe(before + 1);
    if (what === 'hangs up') client.socket.end();
    else client.send('not a chunk');
    expect((await client.responses()).map(({ status }) => status)).toEqual([413]);
    await expect.poll(() => client.isClosed, { timeout: 5_000 }).toBe(true);
    expect(told.slice(before).map(({ code }) => code)).toEqual(['body_too_large']);
  },
);

test('a connection reset during CONNECT does not crash the gateway', async () => {
  const { hostname, port } = new URL(stand.gateway.url);
  const socket = connect(Number(port), hostname);
  socket.write(request('CONNECT', 'gateway:443', [HOST]));
  await once(socket, 'data');
  socket.resetAndDestroy();
  await once(socket, 'close');
  expect((await send('POST', '/unknown')).status).toBe(404);
});

const problem = ({ body }: RawResponse): Record<string, unknown> =>
  JSON.parse(body.toString()) as Record<string, unknown>;

describe('a refused request gets a response and is never logged:', () => {
  type Case = readonly [name: string, bytes: string, status: number, code: RejectionCode];
  const post = (...lines: string[]) => request('POST', PATH, [HOST, ...lines]);

  /** Requests that are valid HTTP, so that the connection stays open. */
  const wellFormed: readonly Case[] = [
    ['no key', post(), 401, 'api_key_missing'],
    ['an empty key', post('x-api-key:'), 401, 'api_key_invalid'],
    ['a wrong key', post('x-api-key: sk_wrong'), 401, 'api_key_invalid'],
    ['a key of 10 kB', post(`x-api-key: ${'k'.repeat(10_000)}`), 401, 'api_key_invalid'],
    ['the key twice', post(WITH_KEY, WITH_KEY), 401, 'api_key_repeated'],
    ['the key twice in different cases', post(WITH_KEY, `X-API-Key: ${KEY}`), 401, 'api_key_repeated'],
    ['two keys in one header', post(`x-api-key: ${KEY}, ${KEY}`), 401, 'api_key_invalid'],
    ['X-API-Key', post(`X-API-Key: ${KEY}`), 401, 'api_key_header_name'],
    ['X-Api-Key', post(`X-Api-Key: ${KEY}`), 401, 'api_key_header_name'],
    ['a trailing space', post(`x-api-key: ${KEY} `), 401, 'api_key_whitespace'],
    ['a trailing tab', post(`x-api-key: ${KEY}\t`), 401, 'api_key_whitespace'],
    ['two spaces before the key', post(`x-api-key:  ${KEY}`), 401, 'api_key_whitespace'],
    ['a tab before the key', post(`x-api-key:\t${KEY}`), 401, 'api_key_whitespace'],
    ['the key of another account', post(`x-api-key: ${OTHER_KEY}`), 401, 'api_key_other_account'],
    ['an unknown project', request('POST', '/unknown/v1/orders', [HOST, WITH_KEY]), 404, 'project_not_found'],
    ['no project', request('POST', '/', [HOST, WITH_KEY]), 404, 'project_not_found'],
    ['only a project', request('POST', `/${URI}`, [HOST, WITH_KEY]), 404, 'endpoint_not_found'],
    ['an unknown path', request('POST', `/${URI}/v2`, [HOST, WITH_KEY]), 404, 'endpoint_not_found'],
    ['a percent-encoded path', request('POST', `/${URI}/v1/%6Frders`, [HOST, WITH_KEY]), 404, 'endpoint_not_found'],
    ['a path with dots', request('POST', `/${URI}/v1/../v1/orders`, [HOST, WITH_KEY]), 404, 'endpoint_not_found'],
    ['a different method', request('PUT', PATH, [HOST, WITH_KEY]), 405, 'method_not_allowed'],
    ['HEAD without GET', request('HEAD', `/${URI}/only-post`, [HOST, WITH_KEY]), 405, 'method_not_allowed'],
    ['OPTIONS', request('OPTIONS', PATH, [HOST, WITH_KEY]), 405, 'method_not_allowed'],
    ['TRACE', request('TRACE', PATH, [HOST, WITH_KEY]), 405, 'method_not_allowed'],
    ['PURGE', request('PURGE', PATH, [HOST, WITH_KEY]), 405, 'method_not_allowed'],
    ['TRACE without a key', request('TRACE', PATH, [HOST]), 401, 'api_key_missing'],
  ];

  /** Requests after which the connection is closed, because the bytes that follow cannot be trusted to be a request. */
  const malformed: readonly Case[] = [
    ['an unknown method', request('FOO', PATH, [HOST, WITH_KEY]), 400, 'bad_request'],
    ['CONNECT', request('CONNECT', 'gateway:443', [HOST, WITH_KEY]), 400, 'target_invalid'],
    ['a body that is too large', post(WITH_KEY, `content-length: ${BODY_MAX + 1}`), 413, 'body_too_large'],
    ['a length of 2^63', post(WITH_KEY, 'content-length: 9223372036854775808'), 413, 'body_too_large'],
    [
      'chunks that are too large',
      post(WITH_KEY, 'transfer-encoding: chunked') +
        `${(BODY_MAX + 1).toString(16)}\r\n${'x'.repeat(BODY_MAX + 1)}\r\n`,
      413,
      'body_too_large',
    ],
    ['no Host', request('POST', PATH, [WITH_KEY]), 400, 'host_invalid'],
    ['two Hosts', request('POST', PATH, [HOST, HOST, WITH_KEY]), 400, 'host_invalid'],
    ['an invalid Host', request('POST', PATH, ['Host: a/b', WITH_KEY]), 400, 'host_invalid'],
    ['an ftp URL', request('POST', `ftp://gateway${PATH}`, [HOST, WITH_KEY]), 400, 'target_invalid'],
    ['a URL with a user', request('POST', `http://user@gateway${PATH}`, [HOST, WITH_KEY]), 400, 'target_invalid'],
    ['a URL without a host', request('POST', `http://${PATH}`, [HOST, WITH_KEY]), 400, 'target_invalid'],
    ['a URL with two slashes', request('POST', `http://gateway/${PATH}`, [HOST, WITH_KEY]), 400, 'target_invalid'],
    ['a URL with a fragment', request('POST', `http://gateway${PATH}#x`, [HOST, WITH_KEY]), 400, 'target_invalid'],
    ['a URL without Host', request('POST', `http://gateway${PATH}`, [WITH_KEY]), 400, 'host_invalid'],
    ['a URL and two Hosts', request('POST', `http://gateway${PATH}`, [HOST, HOST, WITH_KEY]), 400, 'host_invalid'],
    ['//evil/x', request('GET', '//evil/x', [HOST, WITH_KEY]), 400, 'target_invalid'],
    ['OPTIONS *', request('OPTIONS', '*', [HOST, WITH_KEY]), 400, 'target_invalid'],
    ['a fragment', request('POST', `${PATH}#x`, [HOST, WITH_KEY]), 400, 'target_invalid'],
    ['a target of 9 kB', request('POST', `${PATH}?${'q'.repeat(9_000)}`, [HOST, WITH_KEY]), 414, 'target_too_long'],
    ['a target of 20 kB', request('POST', `${PATH}?${'q'.repeat(20_000)}`, [HOST, WITH_KEY]), 414, 'target_too_long'],
    ['20 kB of headers', post(WITH_KEY, `a: ${'b'.repeat(20_000)}`), 431, 'headers_too_large'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'bad_request'],
    ['HTTP/1.2', `POST ${PATH} HTTP/1.2\r\n${HOST}\r\n${WITH_KEY}\r\n\r\n`, 400, 'bad_request'],
    ['a different expectation', post(WITH_KEY, 'Expect: 200-ok'), 417, 'expectation_failed'],
    ['a coding before chunked', post(WITH_KEY, 'Transfer-Encoding: gzip, chunked') + '0\r\n\r\n', 400, 'bad_request'],
    [
      'chunks and a length',
      post(WITH_KEY, 'Transfer-Encoding: chunked', 'Content-Length: 5') + '0\r\n\r\n',
      400,
      'bad_request',
    ],
    [
      'chunks in HTTP/1.0',
      `POST ${PATH} HTTP/1.0\r\n${HOST}\r\n${WITH_KEY}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'bad_request',
    ],
    ['two lengths', post(WITH_KEY, 'Content-Length: 1', 'Content-Length: 2') + 'ab', 400, 'bad_request'],
    ['a folded header', post(WITH_KEY, 'a: b', ' c'), 400, 'bad_request'],
    ['a folded key', post('x-api-key:', ` ${KEY}`), 400, 'bad_request'],
    ['a space before a colon', post(`x-api-key : ${KEY}`), 400, 'bad_request'],
    ['a NUL in a header', post(WITH_KEY, 'a: \0'), 400, 'bad_request'],
    ['a broken chunk', post(WITH_KEY, 'transfer-encoding: chunked') + 'zz\r\n', 400, 'bad_request'],
    ['garbage', 'hello\r\n\r\n', 400, 'bad_request'],
    ['a stalled head', `POST ${PATH} HTTP/1.1\r\n${HOST}\r\n`, 408, 'request_timeout'],
    ['a stalled body', post(WITH_KEY, 'content-length: 10') + 'abc', 408, 'request_timeout'],
    ['chunks without an end', post(WITH_KEY, 'transfer-encoding: chunked') + '3\r\nabc\r\n', 408, 'request_timeout'],
  ];

  const check = async ([, bytes, status, code]: Case): Promise<RawResponse> => {
    const response = await exchange(stand.gateway.url, bytes);
    expect([response.status, rejectionCode(response)]).toEqual([status, code]);
    expect(responseHeader(response, 'content-type')).toBe('application/problem+json');
    if (!bytes.startsWith('HEAD')) expect(problem(response)).toMatchObject({ status, code });
    if (status === 401) expect(responseHeader(response, 'www-authenticate')).toContain('x-api-key');
    return response;
  };

  test.concurrent.each(wellFormed)('%s', async (...one) => {
    expect(responseHeader(await check(one), 'connection')).toBeUndefined();
  });

  test.concurrent.each(malformed)('%s (and the connection closes)', { timeout: 15_000 }, async (...one) => {
    expect(responseHeader(await check(one), 'connection')).toBe('close');
  });

  test('only the accepted request is in the log afterwards', async () => {
    await send('POST', `${PATH}?after`);
    await stand.sink.until(({ rows }) => rows.some(({ query }) => query === 'after'));
    expect(stand.sink.rows.filter(({ target }) => target === PATH)).toEqual([]);
  });

  test('unknown, malformed and empty keys get the same response', async () => {
    const bodies = await Promise.all(
      ['sk_wrong', '%', ''].map(async (key) =>
        (await exchange(stand.gateway.url, post(`x-api-key: ${key}`))).body.toString(),
      ),
    );
    expect(new Set(bodies).size).toBe(1);
  });

  test('a 405 response lists the allowed methods, and a 404 response suggests a similar path', async () => {
    expect(responseHeader(await send('PUT', PATH), 'allow')).toBe('GET, HEAD, POST');
    expect(problem(await send('POST', `/${URI}/V1/orders/`))['detail']).toContain('at /v1/orders,');
  });
});

test.each([
  ['a method in lowercase', request('post', PATH, [HOST, WITH_KEY]), 'Methods are case-sensitive'],
  ['an unknown method', request('FOO', PATH, [HOST, WITH_KEY]), 'The method is unknown'],
  [
    'a byte that is not allowed in a target',
    request('POST', `${PATH}?x=\u00fc`, [HOST, WITH_KEY]),
    'must be percent-encoded',
  ],
  [
    'a header name with a space',
    request('POST', PATH, [HOST, 'a b: c', WITH_KEY]),
    'contains a character that is not allowed in headers',
  ],
  ['HTTP/1.2', `POST ${PATH} HTTP/1.2\r\n${HOST}\r\n\r\n`, 'see RFC 9112'],
])('the response explains %s', async (_name, bytes, detail) => {
  const response = await exchange(stand.gateway.url, bytes);
  expect([response.status, problem(response)['detail']]).toEqual([400, expect.stringContaining(detail)]);
});
