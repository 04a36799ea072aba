import { SourceError, type DesiredObject, type ResourceObject } from '@standin/contract';
import { describe, expect, it, test } from 'vitest';
import type { Resources } from '../backend.ts';
import { backendWith, startApiServer, type ApiServer } from './api-server.testing.ts';

const expectation = (name: string, project: string, status?: unknown): ResourceObject => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Expectation',
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-11-21T12:00:00Z',
  },
  spec: { projectRef: { name: project }, filter: { search: 'path:/v1/refunds' }, count: { min: 1 }, deadline: '2m' },
  status,
});

const serve = (resources: Partial<Resources>): Promise<ApiServer> =>
  startApiServer(() => Promise.resolve(backendWith({}, resources)));
const ask = async (url: string, method = 'GET', body?: unknown): Promise<{ status: number; body: unknown }> => {
  const headers = { 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(url, { method, headers, ...sent });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
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

const NEVER = { count: { max: 0 }, deadline: '30s' };

describe('an expectation', () => {
  it('is created for the project, with the given name or a generated one', async () => {
    const { applied, apply } = recorder();
    await using api = await serve({ apply });
    const spec = {
      filter: { search: 'method:POST path:/v1/refunds' },
      count: { min: 1, max: 1 },
      from: '2026-11-21T09:00:00Z',
      deadline: '2m',
    };
    expect(await ask(`${api.shop}/expectations`, 'POST', { name: 'refund', ...spec })).toMatchObject({
      status: 201,
      body: { name: 'refund', spec: { projectRef: { name: 'shop' }, ...spec }, status: {} },
    });
    expect((await ask(`${api.shop}/expectations`, 'POST', NEVER)).status).toBe(201);
    expect(applied[1]).toMatchObject({
      metadata: { name: expect.stringMatching(/^expect-[0-9a-f]{8}$/) as string, namespace: 'default' },
      spec: { projectRef: { name: 'shop' }, ...NEVER },
    });
  });

  test.each([
    [{ ...NEVER, filter: { search: 'status:many' } }, 'search_invalid', 'A status has a form like'],
    [{ count: { max: 0 } }, 'body_invalid', 'deadline: is required'],
    [{ deadline: '30s' }, 'body_invalid', 'count: is required'],
    [{ ...NEVER, count: { min: 2, max: 1 } }, 'body_invalid', 'must not be less than min'],
    [{ ...NEVER, deadline: '0s' }, 'body_invalid', 'deadline: must be between 1s and 12h'],
    [{ ...NEVER, deadline: '8760h' }, 'body_invalid', 'deadline: must be between 1s and 12h'],
    [{ ...NEVER, from: 'yesterday' }, 'body_invalid', 'from: '],
    [{ ...NEVER, projectRef: { name: 'other' } }, 'body_invalid', 'projectRef'],
  ])('is not created from %j', async (body, code, detail) => {
    const { applied, apply } = recorder();
    await using api = await serve({ apply });
    const refused = await ask(`${api.shop}/expectations`, 'POST', body);
    expect(refused.body).toMatchObject({ code, detail: expect.stringContaining(detail) as string });
    expect(applied).toEqual([]);
  });

  it('shows where the mistake in its search is', async () => {
    await using api = await serve(recorder());
    const body = { ...NEVER, filter: { search: 'path:/a status:many' } };
    expect(await ask(`${api.shop}/expectations`, 'POST', body)).toMatchObject({
      status: 400,
      body: { position: { from: 15, to: 19 } },
    });
  });

  it('requires only the permission to create it, and a project that exists', async () => {
    let getProject: Resources['get'] = () => Promise.reject(new SourceError('Forbidden', 'no'));
    let create: Resources['apply'] = recorder().apply;
    await using api = await serve({ get: (ref) => getProject(ref), apply: (...args) => create(...args) });
    const post = () => ask(`${api.shop}/expectations`, 'POST', NEVER);
    expect((await post()).status).toBe(201);
    create = () => Promise.reject(new SourceError('Forbidden', 'cannot create resource "mockexpectations"'));
    expect(await post()).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    getProject = () => Promise.resolve(undefined);
    expect(await post()).toMatchObject({ status: 404, body: { code: 'project_not_found' } });
  });

  it('shows its end, and is deleted, but only under its own project', async () => {
    const status = {
      phase: 'Unmet',
      matched: 0,
      requestIds: [],
      nearMisses: [{ requestId: '01931f3e-0000-7000-8000-000000000001', failed: ['method:POST'] }],
    };
    const objects = [expectation('mine', 'shop', status), expectation('theirs', 'other')];
    const deleted: string[] = [];
    const project = await backendWith({}).resources.get({ kind: 'Project', namespace: 'default', name: 'shop' });
    await using api = await serve({
      list: () => Promise.resolve(objects),
      get: ({ kind, name }) =>
        Promise.resolve(kind === 'Project' ? project : objects.find(({ metadata }) => metadata.name === name)),
      delete: (ref, uid) => {
        deleted.push(`${ref.kind} ${ref.namespace}/${ref.name} ${uid}`);
        return Promise.resolve();
      },
    });
    const url = `${api.shop}/expectations`;
    expect(await ask(`${url}/mine`)).toMatchObject({ status: 200, body: { name: 'mine', status } });
    expect((await ask(url)).body).toMatchObject({ items: [{ name: 'mine' }] });
    for (const method of ['GET', 'DELETE'])
      for (const name of ['theirs', 'none'])
        expect(await ask(`${url}/${name}`, method)).toMatchObject({
          status: 404,
          body: { code: 'expectation_not_found' },
        });
    expect((await ask(`${url}/mine`, 'DELETE')).status).toBe(204);
    expect(deleted).toEqual(['Expectation default/mine uid-mine']);
  });
});
