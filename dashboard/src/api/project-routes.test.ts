import { SourceError, type DesiredObject, type ResourceObject } from '@standin/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Resources } from '../backend.ts';
import { backendWith, startApiServer, type ApiServer } from './api-server.testing.ts';

let server: ApiServer;
let resources: Partial<Resources> = {};
beforeAll(async () => {
  server = await startApiServer(() => Promise.resolve(backendWith({}, resources)));
});
afterAll(() => server[Symbol.asyncDispose]());

const READY = { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }] };
const BROKEN = { conditions: [{ type: 'Ready', status: 'False', reason: 'AccountNotFound', message: 'No account.' }] };

/** Objects in memory, whose status is `status` after the second read. */
const memoryResources = (status: unknown = READY) => {
  const objects = new Map<string, ResourceObject>();
  const applied: DesiredObject[] = [];
  let reads = 0;
  resources = {
    apply: (desired, expected) => {
      const { name, namespace, ...rest } = desired.metadata;
      expect(expected).toBe('absent');
      if (name === 'taken') return Promise.reject(new SourceError('Conflict', 'it exists'));
      if (name.startsWith('bad'))
        return Promise.resolve({ ok: false, problems: [{ path: 'spec.slug', message: 'must begin with /' }] });
      applied.push(desired);
      const source = { uid: `uid-${name}`, generation: 1, resourceVersion: '1', creationTimestamp: '' };
      const object = { ...desired, metadata: { ...rest, name, namespace, ...source } };
      objects.set(name, object);
      return Promise.resolve({ ok: true, object });
    },
    get: ({ name }) => {
      const object = objects.get(name);
      reads += 1;
      return Promise.resolve(object && (reads > 3 ? { ...object, status } : object));
    },
    list: (kind) => Promise.resolve([...objects.values()].filter((object) => object.kind === kind)),
    delete: ({ name }, uid) => {
      expect(uid).toBe(`uid-${name}`);
      objects.delete(name);
      return Promise.resolve();
    },
  };
  return { objects, applied };
};

const send = async (method: 'POST' | 'DELETE', path: string, body?: unknown) => {
  const response = await fetch(`${server.url}/namespaces/default/projects${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as Record<string, unknown> };
};

const spec = { accountRef: { name: 'default' } };
const order = { slug: '/v1/orders', method: 'POST', action: 'JSON', displayName: 'Order', json: { body: '{}' } };

describe('a project', () => {
  it('is created with its endpoints, and the response waits until they are ready', async () => {
    const { applied } = memoryResources();
    const endpoints = [{ name: 'order', spec: order }, { spec: { ...order, slug: '/v1/refunds' } }];
    const { status, body } = await send('POST', '', { name: 'test-1', temporary: true, spec, endpoints });
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ name: 'test-1', endpoints: ['order', 'test-1-2'], isReady: true, message: '' }),
    ]);
    const labels = { 'standin.dev/temporary': 'true' };
    expect(applied).toMatchObject([
      { kind: 'Project', metadata: { name: 'test-1', labels }, spec },
      { kind: 'Endpoint', metadata: { name: 'order', labels }, spec: { projectRef: { name: 'test-1' } } },
      { kind: 'Endpoint', metadata: { name: 'test-1-2', labels }, spec: { slug: '/v1/refunds' } },
    ]);
  });

  it('has a generated name and no label by default', async () => {
    const { applied } = memoryResources();
    expect((await send('POST', '', { spec })).status).toBe(201);
    expect(applied).toMatchObject([{ metadata: { name: expect.stringMatching(/^project-[0-9a-f]{10}$/) as string } }]);
    expect(applied[0]?.metadata.labels).toEqual({});
  });

  it.each([
    ['bad', 422, 'object_invalid', 'endpoints.1.spec.slug'],
    ['taken', 409, 'conflict', 'it exists'],
  ])('is not created in part if an endpoint is %s', async (name, status, code, detail) => {
    const { objects } = memoryResources();
    const endpoints = [
      { name: 'order', spec: order },
      { name, spec: order },
    ];
    const { body } = await send('POST', '', { name: 'test-1', spec, endpoints });
    expect(body).toMatchObject({ status, code, detail: expect.stringContaining(detail) as string });
    expect(objects.size).toBe(0);
  });

  it('is deleted again as far as possible, and the response says what remains', async () => {
    const { objects } = memoryResources();
    const remove = resources.delete;
    resources.delete = (ref, uid) =>
      ref.name === 'order'
        ? Promise.reject(new SourceError('Forbidden', 'you may not delete it'))
        : (remove?.(ref, uid) ?? Promise.resolve());
    const endpoints = ['refund', 'order', 'bad'].map((name) => ({ name, spec: order }));
    const { body } = await send('POST', '', { name: 'test-1', spec, endpoints });
    const detail =
      'endpoints.2.spec.slug: must begin with /; Endpoint order cannot be deleted again: you may not delete it';
    expect(body).toMatchObject({ code: 'forbidden', detail });
    expect([...objects.keys()]).toEqual(['order']);
  });

  it('is created if it cannot be read afterwards, and the response has the reason', async () => {
    memoryResources();
    resources.get = () => Promise.reject(new SourceError('Unavailable', 'the API server does not respond'));
    expect(await send('POST', '', { name: 'test-1', spec, timeout: '20ms' })).toMatchObject({
      status: 201,
      body: { isReady: false, message: 'Project test-1: the API server does not respond' },
    });
  });

  it('is read until it is ready, but its endpoints that are ready are not read again', async () => {
    memoryResources();
    const reads: string[] = [];
    const read = resources.get;
    resources.get = async (ref) => {
      reads.push(ref.name);
      const object = await read?.(ref);
      return object && (ref.name === 'order' ? { ...object, status: READY } : object);
    };
    const endpoints = [{ name: 'order', spec: order }];
    expect((await send('POST', '', { name: 'test-1', spec, endpoints })).body).toMatchObject({ isReady: true });
    expect(reads).toEqual(['test-1', 'order', 'test-1', 'test-1']);
  });

  it.each([
    ['with a broken reference', BROKEN, '30s', 'Project test-1: No account.'],
    ['that is not ready in time', {}, '100ms', 'Project test-1: Waiting for the operator.'],
  ])('%s is created, and the response says why it does not work', async (_what, status, timeout, message) => {
    memoryResources(status);
    const { body } = await send('POST', '', { name: 'test-1', spec, timeout });
    expect(body).toMatchObject({ isReady: false, message });
  });

  it.each([
    [{}, 'spec: is required'],
    [{ spec, endpoints: Array(101).fill({ spec: order }) }, 'endpoints'],
    [{ spec, endpoints: [{ spec: { ...order, projectRef: { name: 'other' } } }] }, 'projectRef'],
    [{ spec: { ...spec, status: {} } }, 'status'],
    [{ spec, timeout: '1d' }, 'timeout'],
  ])('is not created from the invalid body %#', async (body, detail) => {
    const { applied } = memoryResources();
    const refused = await send('POST', '', body);
    expect(refused.body).toMatchObject({ code: 'body_invalid', detail: expect.stringContaining(detail) as string });
    expect(applied).toEqual([]);
  });

  it('is deleted with its endpoints, unless a tool manages it', async () => {
    const { objects } = memoryResources();
    await send('POST', '', { name: 'test-1', spec, endpoints: [{ name: 'order', spec: order }] });
    await send('POST', '', { name: 'test-2', spec, endpoints: [{ name: 'other', spec: order }] });
    expect(await send('DELETE', '/test-1')).toEqual({ status: 204, body: undefined });
    expect([...objects.keys()]).toEqual(['test-2', 'other']);
    expect((await send('DELETE', '/test-1')).body).toMatchObject({ code: 'project_not_found' });
    const managed = objects.get('test-2');
    if (managed === undefined) throw new Error('test-2 is missing');
    const labels = { 'argocd.argoproj.io/instance': 'app' };
    objects.set('test-2', { ...managed, metadata: { ...managed.metadata, labels } });
    expect((await send('DELETE', '/test-2')).body).toMatchObject({ code: 'conflict' });
    expect(objects.size).toBe(2);
  });
});
