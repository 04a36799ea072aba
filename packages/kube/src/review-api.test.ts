import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeApiServer, clientFor, fail, json } from '../testing/fake-api-server.ts';
import { ResponseTooLargeError, type KubeClient } from './kube-client.ts';
import { authenticationApi, authorizationApi } from './review-api.ts';

let server: FakeApiServer;
let client: KubeClient;
beforeEach(async () => {
  server = new FakeApiServer((_, response) => json(response, 201, { status: { userInfo: { username: 'ada' } } }));
  await server.start();
  client = clientFor(server);
});
afterEach(async () => {
  await client.close();
  await server.stop();
});

it('creates a review, and returns its status', async () => {
  const { status } = await authenticationApi(client).createSelfSubjectReview({ body: {} });
  expect(status?.userInfo?.username).toBe('ada');
  expect(server.requests.map(({ method, path, body }) => [method, path, body])).toEqual([
    ['POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}],
  ]);
});

it('has the retries, the errors and the limits of the client', async () => {
  const ask = (bytesMax?: number) =>
    authorizationApi(client, bytesMax === undefined ? {} : { bytesMax }).createSelfSubjectRulesReview({
      body: { spec: { namespace: 'a' } },
    });
  server.script = (_, response) => {
    if (server.requests.length === 1) fail(response, 429, 'TooManyRequests', { 'retry-after': '0' });
    else fail(response, 403, 'Forbidden');
  };
  await expect(ask()).rejects.toMatchObject({ status: 403, reason: 'Forbidden', message: 'scripted: Forbidden' });
  expect(server.requests).toHaveLength(2);
  server.script = (_, response) => json(response, 201, { status: { resourceRules: [{ verbs: ['x'.repeat(1_000)] }] } });
  await expect(ask(1_000)).rejects.toBeInstanceOf(ResponseTooLargeError);
});
