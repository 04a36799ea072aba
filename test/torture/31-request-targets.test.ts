import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, RawClient } from './raw-client.ts';
import { json, Stand } from './stand.ts';
import { responseText, startUpstream, type Upstream } from './upstream.ts';

/** Torture test 31: targets, methods, Hosts and upgrades with which a client asks a proxy to connect to another server. */

let stand: Stand;
/** The server that the requests name. Nothing may ever connect to it. */
let named: Upstream;
beforeAll(async () => {
  named = await startUpstream(responseText('never'));
  stand = await Stand.start({ env: { STANDIN_EGRESS_ALLOW_PRIVATE: 'true' } });
  await stand.publish({ slug: '/a', action: json('a') }, { slug: '/a', method: 'POST', action: json('a') });
});
afterAll(async () => {
  await stand[Symbol.asyncDispose]();
  await named[Symbol.asyncDispose]();
});

const CASES: [name: string, requestLine: string, headers: string, status: number, code: string][] = [
  ['two Hosts', 'GET TARGET', 'Host: gateway\r\nHost: NAMED', 400, 'host_invalid'],
  ['two equal Hosts', 'GET TARGET', 'Host: gateway\r\nhost: gateway', 400, 'host_invalid'],
  ['no Host', 'GET TARGET', 'X-A: b', 400, 'host_invalid|bad_request'],
  ['absolute form with a user', 'GET http://a@NAMEDTARGET', 'Host: NAMED', 400, 'target_invalid'],
  ['absolute form without a host', 'GET http://TARGET', 'Host: NAMED', 400, 'target_invalid'],
  ['absolute form and two Hosts', 'GET http://NAMEDTARGET', 'Host: NAMED\r\nHost: NAMED', 400, 'host_invalid'],
  ['absolute form with a different scheme', 'GET ftp://NAMED/a', 'Host: gateway', 400, 'target_invalid'],
  ['two slashes', 'GET //NAMED/a', 'Host: gateway', 400, 'target_invalid'],
  ['two slashes before its own path', 'GET /TARGET', 'Host: gateway', 400, 'target_invalid'],
  ['no slash', 'GET NAMED', 'Host: gateway', 400, 'target_invalid|bad_request'],
  ['asterisk form', 'OPTIONS *', 'Host: gateway', 400, 'target_invalid'],
  ['asterisk form with GET', 'GET *', 'Host: gateway', 400, 'target_invalid|bad_request'],
  ['CONNECT', 'CONNECT NAMED', 'Host: NAMED', 400, 'target_invalid|bad_request'],
  ['TRACE', 'TRACE TARGET', 'Host: gateway', 405, 'method_not_allowed'],
  ['OPTIONS', 'OPTIONS TARGET', 'Host: gateway', 405, 'method_not_allowed'],
  ['PURGE', 'PURGE TARGET', 'Host: gateway', 405, 'method_not_allowed'],
];

const fill = (text: string, marker?: string): string =>
  text.replaceAll('NAMED', `127.0.0.1:${named.port}`).replaceAll('TARGET', stand.target('/a', marker));

test.each(CASES)('rejects %s', async (...[, requestLine, headers, status, code]) => {
  using client = await RawClient.connect(stand.port);
  client.send(`${fill(requestLine)} HTTP/1.1\r\n${fill(headers)}\r\nx-api-key: ${stand.own.key}\r\n\r\n`);
  // Reads only the head, because a response to HEAD has no body, regardless of its Content-Length.
  const text = await (async () => {
    await expect.poll(() => client.pending.toString('latin1'), { timeout: 5_000 }).toContain('\r\n\r\n');
    return client.pending.toString('latin1');
  })();
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(text).toMatch(new RegExp(`\r\nstandin-rejected: (${code})\r\n`, 'i'));
  if (status === 405) expect(text).toMatch(/\r\nallow: GET, HEAD, POST\r\n/i);
});

const UPGRADE = 'Host: gateway\r\nConnection: Upgrade\r\nUpgrade: ';
const ACCEPTED: [name: string, requestLine: string, headers: string][] = [
  ['absolute form', 'GET http://NAMEDTARGET', 'Host: NAMED'],
  ['absolute form with https', 'GET https://NAMEDTARGET', 'Host: gateway'],
  ['an upgrade to h2c', 'GET TARGET', `${UPGRADE}h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__`],
  ['an upgrade to WebSocket', 'GET TARGET', `${UPGRADE}websocket\r\nSec-WebSocket-Version: 13`],
  ['an upgrade to TLS', 'POST TARGET', `${UPGRADE}TLS/1.0`],
];

test.each(ACCEPTED)('responds to %s itself, as to any other request', async (_name, requestLine, headers) => {
  const marker = stand.marker();
  const bytes = `${fill(requestLine, marker)} HTTP/1.1\r\n${fill(headers)}\r\nx-api-key: ${stand.own.key}\r\n\r\n`;
  const answer = await ask(stand.port, bytes);
  expect(answer?.status).toBe(200);
  stand.accept(marker);
});

test.each([
  ['a missing path', '/URI', 404],
  ['a path in another project', '/OTHER/a', 401],
  ['an unknown project', '/unknown-project-uri-1/a', 404],
  ['dots', '/URI/x/../a', 404],
  ['encoded dots', '/URI/%2e%2e/URI/a', 404],
  ['an encoded slash', '/URI%2fa', 404],
  ['an encoded slug', '/URI/%61', 404],
  ['a trailing slash', '/URI/a/', 404],
  ['an empty segment', '/URI//a', 404],
  ['a zero byte', '/URI/a%00', 404],
  ['a backslash', '/URI\\a', 404],
])('compares a path byte by byte: %s', async (_name, target, status) => {
  const path = target.replaceAll('URI', stand.own.uri).replaceAll('OTHER', stand.tenants[1].uri);
  const answer = await ask(stand.port, stand.head('GET', path));
  expect(answer?.status).toBe(status);
  expect(answer?.all('standin-rejected')).toHaveLength(1);
});

test('no request connects to the named host, and only the accepted ones are in the log', async () => {
  const rows = await stand.verify();
  expect(named.connections()).toBe(0);
  expect(rows).toHaveLength(ACCEPTED.length + 1);
});
