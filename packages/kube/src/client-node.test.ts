import {
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  HttpMethod,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  RequestContext,
  V1Secret,
  Watch,
} from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeApiServer, fail, json } from '../testing/fake-api-server.ts';
import { SharedConnectionConfig } from './kube-config.ts';

// Why objects, lists and watches do not go through client-node (ADR 040). If a test fails after an upgrade, review the decision.

const load = <C extends KubeConfig>(config: C, server = 'https://127.0.0.1:1'): C => {
  // Any certificate will do, because nothing connects with TLS.
  const cluster = { name: 'cluster', server, caData: 'Y2E=', skipTLSVerify: server.startsWith('http:') };
  config.loadFromClusterAndUser(cluster, { name: 'user' });
  return config;
};

const callDispatcher = async (config: KubeConfig): Promise<unknown> => {
  const context = new RequestContext('https://127.0.0.1:1/', HttpMethod.GET);
  await config.applySecurityAuthentication(context);
  return context.getDispatcher();
};

it('creates new connections for each call, unlike SharedConnectionConfig', async () => {
  const theirs = load(new KubeConfig());
  expect(await callDispatcher(theirs)).not.toBe(await callDispatcher(theirs));
  const ours = load(new SharedConnectionConfig());
  expect(await callDispatcher(ours)).toBe(await callDispatcher(ours));
  await ours.close();
});

it('has an informer that ends at the first failed list', async () => {
  let lists = 0;
  const informer = makeInformer(load(new KubeConfig()), '/api/v1/pods', () => {
    lists += 1;
    return Promise.reject(new Error('the server is unavailable'));
  });
  const errors: unknown[] = [];
  informer.on('error', (error) => errors.push(error));
  // `start` resolves when the informer has stopped. No timer is left that could list again.
  await informer.start();
  expect([lists, errors.length]).toEqual([1, 1]);
});

describe('with a server', () => {
  const CREATED = '2026-01-01T00:00:00Z';
  const RENEWED = '2026-01-01T00:00:00.123456Z';
  let server: FakeApiServer;
  let config: KubeConfig;
  beforeEach(async () => {
    server = new FakeApiServer((_, response) => json(response, 200, {}));
    await server.start();
    config = load(new KubeConfig(), server.url);
  });
  afterEach(() => server.stop());

  const sent = (): readonly string[] => server.requests.map(({ method, path }) => `${method} ${path}`);

  it.each([
    ['..', '/api/v1/namespaces/team'],
    ['.', '/api/v1/namespaces/team/secrets'],
    ['', '/api/v1/namespaces/team/secrets'],
  ])('deletes a namespace or all its Secrets instead of the Secret %j', async (name, path) => {
    await config.makeApiClient(CoreV1Api).deleteNamespacedSecret({ namespace: 'team', name });
    expect(sent()).toEqual([`DELETE ${path}`]);
  });

  it('deletes and replaces objects without their version', async () => {
    const api = config.makeApiClient(CoreV1Api);
    await api.deleteNamespacedSecret({ namespace: 'a', name: 'b' });
    await api.replaceNamespacedSecret({ namespace: 'a', name: 'b', body: new V1Secret() });
    expect(server.requests.map(({ method, body }) => [method, body])).toEqual([
      ['DELETE', undefined],
      ['PUT', {}],
    ]);
  });

  it('sends a call once, however soon the server asks for it again', async () => {
    server.script = (_, response) => fail(response, 429, 'TooManyRequests', { 'retry-after': '0' });
    const read = config.makeApiClient(CoreV1Api).readNamespacedSecret({ namespace: 'a', name: 'b' });
    await expect(read).rejects.toMatchObject({ code: 429 });
    expect(server.requests).toHaveLength(1);
  });

  it('drops the message of an invalid token', async () => {
    server.script = (_, response) => fail(response, 401, 'Unauthorized');
    const read = config.makeApiClient(CoreV1Api).readNamespacedSecret({ namespace: 'a', name: 'b' });
    await expect(read).rejects.toMatchObject({ code: 401, body: undefined });
  });

  it('removes fields that its models do not have when an object is read and written back', async () => {
    server.script = (_, response) =>
      json(response, 200, { kind: 'Secret', metadata: { name: 'b', newer: 1 }, data: { key: 'eA==' }, newer: 1 });
    const api = config.makeApiClient(CoreV1Api);
    const body = await api.readNamespacedSecret({ namespace: 'a', name: 'b' });
    await api.replaceNamespacedSecret({ namespace: 'a', name: 'b', body });
    expect(server.requests[1]?.body).toEqual({ kind: 'Secret', metadata: { name: 'b' }, data: { key: 'eA==' } });
  });

  it('returns a time as a Date when it reads an object, and as a string when it watches', async () => {
    const object = { kind: 'Pod', metadata: { name: 'b', creationTimestamp: CREATED, resourceVersion: '1' } };
    server.script = ({ query }, response) => {
      if (query.has('watch')) response.end(`${JSON.stringify({ type: 'ADDED', object })}\n`);
      else json(response, 200, object);
    };
    const read = await config.makeApiClient(CoreV1Api).readNamespacedPod({ namespace: 'a', name: 'b' });
    expect(read.metadata?.creationTimestamp).toEqual(new Date(CREATED));
    expect((await watched(config)).objects).toMatchObject([{ metadata: { creationTimestamp: CREATED } }]);
  });

  it('returns the times of a Lease as strings, although it declares them as Dates', async () => {
    server.script = (_, response) => json(response, 200, { kind: 'Lease', spec: { renewTime: RENEWED } });
    const api = config.makeApiClient(CoordinationV1Api);
    const { spec } = await api.readNamespacedLease({ namespace: 'a', name: 'b' });
    expect(spec?.renewTime).toBe(RENEWED);
  });

  it('labels the patch of a custom resource as a JSON patch', async () => {
    const thing = { group: 'example.com', version: 'v1', namespace: 'a', plural: 'things', name: 'b' };
    await config.makeApiClient(CustomObjectsApi).patchNamespacedCustomObject({ ...thing, body: { spec: {} } });
    expect(server.requests[0]?.headers['content-type']).toBe('application/json-patch+json');
  });

  it('looks up the resources of a group, and changes names to lower case, for KubernetesObjectApi', async () => {
    const header = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' };
    server.script = ({ path }, response) => {
      const resources = [{ name: 'clusterroles', kind: 'ClusterRole', namespaced: false }];
      json(response, 200, path.endsWith('/v1') ? { kind: 'APIResourceList', resources } : header);
    };
    await KubernetesObjectApi.makeApiClient(config).read({ ...header, metadata: { name: 'TeamOwner' } });
    expect(sent()).toEqual([
      'GET /apis/rbac.authorization.k8s.io/v1',
      'GET /apis/rbac.authorization.k8s.io/v1/clusterroles/teamowner',
    ]);
  });

  it('continues a watch after a line that is not JSON, and after an exception in a handler', async () => {
    const line = (name: string): string => JSON.stringify({ type: 'ADDED', object: { metadata: { name } } });
    server.script = (_, response) => void response.end(`${line('a')}\n{"type":"DELETED"\n${line('b')}\n`);
    const { objects, error } = await watched(config, () => {
      throw new Error('the handler failed');
    });
    expect(objects).toMatchObject([{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }]);
    expect(error).toBeNull();
  });

  it('reads a line of any length', async () => {
    const object = { metadata: { name: 'a' }, spec: 'x'.repeat(17 * 1024 * 1024) };
    server.script = (_, response) => void response.end(`${JSON.stringify({ type: 'ADDED', object })}\n`);
    expect((await watched(config)).objects).toHaveLength(1);
  });

  it('reports neither the reason nor the delay of a rejected watch', async () => {
    server.script = (_, response) => fail(response, 429, 'TooManyRequests', { 'retry-after': '7' });
    const { error } = await watched(config);
    expect(error).toEqual(Object.assign(new Error('Too Many Requests'), { statusCode: 429 }));
  });
});

/** Watches until the server ends the watch. Returns the objects and how the watch ended. */
const watched = async (config: KubeConfig, onObject: () => void = () => undefined) => {
  const objects: unknown[] = [];
  const error = await new Promise((resolve) => {
    const take = (_: string, object: unknown): void => {
      objects.push(object);
      onObject();
    };
    void new Watch(config).watch('/api/v1/pods', {}, take, resolve);
  });
  return { objects, error };
};
