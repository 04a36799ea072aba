import { SourceError, type DesiredObject, type ResourceObject } from '@standin/contract';
import { describe, expect, it, test } from 'vitest';
import type { Resources } from '../backend.ts';
import { backendWith, startApiServer, type ApiServer } from './api-server.testing.ts';

const purge = (name: string, project: string, rest: { createdAt?: string; status?: unknown } = {}): ResourceObject => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Purge',
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: rest.createdAt ?? '2026-11-21T12:00:00Z',
  },
  spec: {
    projectRef: { name: project },
    filter: { search: 'path:/leak', to: '2026-11-21T12:00:00Z' },
    reason: 'a leak',
  },
  status: rest.status,
});

const serve = (resources: Partial<Resources>): Promise<ApiServer> =>
  startApiServer(() => Promise.resolve(backendWith({}, resources)));
const get = async (url: string): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(url);
  return { status: response.status, body: await response.json() };
};
const post = async (api: ApiServer, body: unknown): Promise<{ status: number; body: unknown }> => {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${api.shop}/purges`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
};
const recorder = () => {
  const applied: DesiredObject[] = [];
  const apply: Resources['apply'] = (desired, expected) => {
    expect(expected).toBe('absent');
    applied.push(desired);
    const { name, namespace } = desired.metadata;
    const metadata = { name, namespace, uid: 'uid', generation: 1, resourceVersion: '1', creationTimestamp: '' };
    return Promise.resolve({ ok: true, object: { ...desired, metadata } });
  };
  return { applied, apply };
};

const TO = { to: '2026-11-21T12:00:00Z' };

describe('a purge', () => {
  it('is created for the project, with the given name or a generated one', async () => {
    const { applied, apply } = recorder();
    await using api = await serve({ apply });
    const filter = { search: 'body:"jane@example.com"', from: '2026-11-21T09:00:00Z', ...TO };
    expect(await post(api, { name: 'erasure-4711', filter, reason: 'erasure' })).toMatchObject({
      status: 201,
      body: { name: 'erasure-4711', spec: { projectRef: { name: 'shop' }, filter, reason: 'erasure' }, status: {} },
    });
    expect((await post(api, { filter: TO, requests: 'All', reason: 'the end' })).status).toBe(201);
    expect(applied[1]).toMatchObject({
      metadata: { name: expect.stringMatching(/^purge-[0-9a-f]{8}$/) as string, namespace: 'default' },
      spec: { projectRef: { name: 'shop' }, filter: TO, requests: 'All', reason: 'the end' },
    });
  });

  test.each([
    [{ filter: { search: 'status:many', ...TO }, reason: 'x' }, 'object_invalid', 'spec.filter.search: '],
    [{ filter: { search: ' ', ...TO }, reason: 'x' }, 'object_invalid', 'spec.filter.search: selects all requests'],
    [{ filter: { search: 'a', ...TO } }, 'body_invalid', 'reason: is required'],
    [{ filter: { search: 'a' }, reason: 'x' }, 'body_invalid', 'filter.to: is required'],
    [{ filter: { search: 'a', until: 'now', ...TO }, reason: 'x' }, 'body_invalid', 'filter: '],
    [{ filter: TO, requests: 'all', reason: 'x' }, 'body_invalid', 'requests: '],
    [{ projectRef: { name: 'other' }, filter: TO, requests: 'All', reason: 'x' }, 'body_invalid', 'projectRef'],
  ])('is not created from %j', async (body, code, detail) => {
    const { applied, apply } = recorder();
    await using api = await serve({ apply });
    expect((await post(api, body)).body).toMatchObject({ code, detail: expect.stringContaining(detail) as string });
    expect(applied).toEqual([]);
  });

  it('requires only the permission to create it, and a project that exists', async () => {
    const { apply } = recorder();
    let getProject: Resources['get'] = () => Promise.reject(new SourceError('Forbidden', 'no'));
    let create: Resources['apply'] = apply;
    await using api = await serve({ get: (ref) => getProject(ref), apply: (...args) => create(...args) });
    const body = { filter: TO, requests: 'All', reason: 'x' };
    expect((await post(api, body)).status).toBe(201);
    create = () => Promise.reject(new SourceError('Forbidden', 'cannot create resource "mockpurges"'));
    expect(await post(api, body)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    getProject = () => Promise.resolve(undefined);
    expect(await post(api, body)).toMatchObject({ status: 404, body: { code: 'project_not_found' } });
  });

  it('shows its progress, but only under its own project', async () => {
    const status = { phase: 'Waiting', waitingFor: ['gateway standin-gateway-0'] };
    const older = purge('older', 'shop', { createdAt: '2026-11-21T11:00:00Z' });
    const mine = purge('mine', 'shop', { status });
    const theirs = purge('theirs', 'other');
    const objects = [older, mine, theirs];
    const project = await backendWith({}).resources.get({ kind: 'Project', namespace: 'default', name: 'shop' });
    await using api = await serve({
      list: () => Promise.resolve(objects),
      get: ({ kind, name }) =>
        Promise.resolve(kind === 'Project' ? project : objects.find(({ metadata }) => metadata.name === name)),
    });
    expect(await get(`${api.shop}/purges/mine`)).toMatchObject({ status: 200, body: { name: 'mine', status } });
    for (const name of ['theirs', 'none'])
      expect(await get(`${api.shop}/purges/${name}`)).toMatchObject({ status: 404, body: { code: 'purge_not_found' } });
    const { body } = await get(`${api.shop}/purges`);
    expect((body as { items: { name: string }[] }).items.map(({ name }) => name)).toEqual(['mine', 'older']);
  });
});
