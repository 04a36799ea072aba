import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ResourceObject } from '@standin/contract';
import { projectUri } from '@standin/crds';
import { expect, test } from 'vitest';
import type { Backend } from '../backend.ts';
import { sendRequest } from './send-request.ts';

const PROJECT = { namespace: 'default', project: 'project' };
const ID = 'first uid';

const object = (kind: ResourceObject['kind'], spec: object, status: object): ResourceObject => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind,
  metadata: {
    name: kind.toLowerCase(),
    namespace: 'default',
    uid: kind,
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    resourceVersion: '1',
  },
  spec,
  status,
});

const respondMock = (response: ServerResponse): void => void response.end('mock');

const startGateway = async (respond = respondMock) => {
  const seen: unknown[] = [];
  const server = createServer(({ method, url, headers }, response) => {
    seen.push([method, url, headers['x-api-key']]);
    respond(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const backendAt = (sendUrl: string, spec: object, status: object): Backend => {
  const objects = [
    object('Project', { accountRef: { name: 'account' }, displayName: 'Shop', ...spec }, status),
    object('Account', {}, {}),
  ];
  return {
    mode: 'cluster',
    gatewayUrl: 'https://mocks.invalid',
    sendUrl,
    resources: {
      get: ({ kind }: { kind: string }) => Promise.resolve(objects.find((one) => one.kind === kind)),
      findIdentity: () => Promise.resolve({ namespace: 'default', name: 'project', uid: ID }),
      readApiKey: () => Promise.resolve('key'),
    },
  } as unknown as Backend;
};

// In a cluster, the URL for callers leads through a load balancer that the dashboard often cannot reach. Users may be able to edit the status.
test.each([
  ['its URI, which is pinned', { uri: 'k3v9' }, 'k3v9'],
  ['the URI of its identity', {}, projectUri(ID, {})],
])('a request is sent to the gateways inside the cluster, to %s, with the key of the account', async (_, spec, uri) => {
  await using gateway = await startGateway();
  await using elsewhere = await startGateway();
  const status = { uri: 'other', url: `${elsewhere.url}/other`, id: 'other' };
  for (const base of ['', '/', '/base/']) {
    const request = { method: 'GET', path: '/v1/orders', query: 'a=1', headers: [], body: undefined };
    const sent = await sendRequest(backendAt(`${gateway.url}${base}`, spec, status), PROJECT, request);
    expect(sent).toMatchObject({ status: 200, text: 'mock' });
  }
  expect(gateway.seen).toEqual(['', '', '/base'].map((base) => ['GET', `${base}/${uri}/v1/orders?a=1`, 'key']));
  expect(elsewhere.seen).toEqual([]);
});

test.each(['//elsewhere.invalid/', '/@elsewhere.invalid/', '/../../x', '\\\\elsewhere.invalid', '/a?b#c'])(
  'a request to the path %s stays on the gateway',
  async (path) => {
    await using gateway = await startGateway();
    const request = { method: 'GET', path, headers: [], body: undefined };
    expect(await sendRequest(backendAt(gateway.url, { uri: 'k3v9' }, {}), PROJECT, request)).toMatchObject({
      status: 200,
    });
    expect(gateway.seen).toHaveLength(1);
  },
);

/** Sends a request to a gateway that responds like this. Returns the result and the requests that the gateway received. */
const sendTo = async (respond: typeof respondMock) => {
  await using gateway = await startGateway(respond);
  const request = { method: 'GET', path: '/v1/orders', headers: [], body: undefined };
  const result = await sendRequest(backendAt(gateway.url, { uri: 'k3v9' }, {}), PROJECT, request);
  return { result, seen: gateway.seen };
};

test('a redirect of a mock is shown and not followed, because its target must not get the key', async () => {
  const { result, seen } = await sendTo((response) => response.writeHead(302, { location: '/elsewhere' }).end());
  expect(result).toMatchObject({ status: 302 });
  expect(seen).toHaveLength(1);
});

test('a long response is cut, without the part of a character at its end', async () => {
  const { result } = await sendTo((response) => response.end(`x${'ä'.repeat(20_000)}`));
  expect(result).toMatchObject({ text: `x${'ä'.repeat(8_191)}`, isCut: true });
});

test('a response that is not UTF-8 has no text', async () => {
  const { result } = await sendTo((response) => response.end(Buffer.from([0x61, 0xe4])));
  expect(result).toMatchObject({ status: 200, text: undefined });
});
