import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ResourceObject } from '@standin/contract';
import { expect, test } from 'vitest';
import type { Backend } from '../backend.ts';
import { reachableUrl, sendRequest } from './send-request.ts';

const object = (kind: ResourceObject['kind'], spec: object, status: object): ResourceObject => ({
  ...{ apiVersion: 'standin.dev/v1alpha1', kind },
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
const projectAt = (url: string) =>
  object('Project', { accountRef: { name: 'account' }, displayName: 'Shop' }, { uri: 'k3v9', url: `${url}/k3v9` });

test.each([
  ['https://mocks.example.com', 'http://gateway:8080/k3v9/v1/orders?a=1'],
  ['https://Mocks.example.com:443', 'http://gateway:8080/k3v9/v1/orders?a=1'],
  ['https://example.com/mocks/', 'http://gateway:8080/k3v9/v1/orders?a=1'],
])('an endpoint below %s is reached at %s inside the cluster', (callers, expected) => {
  const project = projectAt(callers.replace(/\/$/, ''));
  const url = new URL(`${callers.replace(/\/$/, '')}/k3v9/v1/orders?a=1`).href;
  expect(reachableUrl(url, project, 'http://gateway:8080')).toBe(expected);
  expect(reachableUrl(url, project, 'http://gateway:8080/')).toBe(expected);
  expect(reachableUrl(url, project, undefined)).toBe(url);
});

// The URLs may not belong together, because the operator writes the statuses of a project and of its endpoints one after the other.
test.each([
  ['https://mocks.example.com/k3v9/v1/orders?a=1', projectAt('https://example.com/mocks'), '/k3v9/v1/orders?a=1'],
  ['https://example.com/mocks-2/k3v9/v1', projectAt('https://example.com/mocks'), '/mocks-2/k3v9/v1'],
  [
    'https://example.com/mock@elsewhere.example.com/',
    projectAt('https://example.com/mock'),
    '/mock@elsewhere.example.com/',
  ],
  ['https://example.com/k3v9/v1', object('Project', {}, {}), '/k3v9/v1'],
])('a request to %s only leads to the gateways inside the cluster', (url, project, expected) => {
  expect(reachableUrl(url, project, 'http://gateway:8080')).toBe(`http://gateway:8080${expected}`);
});

// In a cluster, the URL in the status leads through a load balancer that the dashboard often cannot reach.
test('a request is sent to the gateways inside the cluster, with the key of the account', async () => {
  const seen: unknown[] = [];
  const gateway = createServer(({ method, url, headers }, response) => {
    seen.push([method, url, headers['x-api-key']]);
    response.end('mock');
  }).listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  const objects = [projectAt('https://mocks.invalid'), object('Account', {}, {})];
  const backend = {
    mode: 'cluster',
    gatewayUrl: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`,
    resources: {
      get: ({ kind }: { kind: string }) => Promise.resolve(objects.find((one) => one.kind === kind)),
      readApiKey: () => Promise.resolve('key'),
    },
  } as unknown as Backend;
  const request = { method: 'GET', url: 'https://mocks.invalid/k3v9/v1/orders', headers: [], body: undefined };
  expect(await sendRequest(backend, { namespace: 'default', project: 'project' }, request)).toMatchObject({
    status: 200,
    text: 'mock',
  });
  expect(seen).toEqual([['GET', '/k3v9/v1/orders', 'key']]);
  gateway.close();
});
