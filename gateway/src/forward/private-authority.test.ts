import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  authorityUid,
  configKey,
  STREAM_SERVER_NAME,
  type AuthorityConfig,
  type JsonMockConfig,
} from '@standin/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeStreamCertificates } from '../config/stream-certificates.testing.ts';
import { BASIC_OBJECTS, endpoint, HOST, request, startTestGateway, URI, WITH_KEY } from '../gateway.testing.ts';
import { exchange } from '../raw-client.testing.ts';

const STALE: JsonMockConfig = { status: 203, headers: [], body: 'stale' };
const UID = authorityUid('team-a', { name: 'ca', key: 'ca.crt' });
const authority = (certificates: string): AuthorityConfig => ({
  kind: 'Authority',
  uid: UID,
  namespace: 'team-a',
  name: 'ca',
  certificates,
});

let server: Server;
let ca: string;
let url: string;
beforeAll(async () => {
  const certificates = await makeStreamCertificates();
  ca = certificates.ca;
  server = createServer(certificates.server, (_, response) => response.end('private')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const endpoints = () => {
  const tls = { authorityUid: UID, serverName: STREAM_SERVER_NAME };
  const to = { kind: 'Forward', url } as const;
  return [
    ...BASIC_OBJECTS,
    endpoint('/private', { ...to, tls }),
    endpoint('/public', to),
    endpoint('/fallback', { ...to, tls, fallback: { on: ['Unreachable'], mock: STALE } }),
  ];
};

test('certificates take effect for the next request, and without them the upstream is not called', async () => {
  await using stand = await startTestGateway({
    settings: { egress: { allowPrivate: true } },
    objects: [...endpoints(), authority(ca)],
  });
  const send = async (slug: string): Promise<string> => {
    const { status, body } = await exchange(stand.gateway.url, request('POST', `/${URI}${slug}`, [HOST, WITH_KEY]));
    const { detail = '' } = status === 502 ? (JSON.parse(body.toString()) as { detail?: string }) : {};
    return `${status} ${detail.replace(url.slice(0, -1), 'UPSTREAM') || body.toString()}`;
  };
  expect(await send('/private')).toBe('200 private');
  expect(await send('/public')).toMatch(/^502 .*UPSTREAM is signed by an authority that is not trusted: set forward/);

  const other = (await makeStreamCertificates()).ca;
  await stand.operator.publish([authority(other)]);
  expect(await send('/private')).toMatch(/^502 .*UPSTREAM is not signed by an authority in forward\.tls\.caRef/);
  expect(await send('/fallback')).toBe('203 stale');
  await stand.operator.publish([authority(`${ca}\n${other}`)]);
  expect(await send('/private')).toBe('200 private');

  await stand.operator.publish([], [configKey(authority(ca))]);
  expect(await send('/private')).toMatch(/^502 .*no usable certificates in forward\.tls\.caRef: see the condition/);
  expect(await send('/fallback')).toBe('203 stale');
});
