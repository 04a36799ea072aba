import type { LogRow, ResourceObject } from '@standin/contract';
import { SourceError } from '@standin/contract';
import { anyLogRow } from '@standin/exchange/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explanationSchema } from '../api/schemas.ts';
import { backendWith, startApiServer, type ApiServer } from '../api/api-server.testing.ts';
import type { Resources } from '../backend.ts';
import { startWorkers } from '../workers/workers.ts';
import { explainRequest } from './explain-request.ts';

const endpoint = (
  name: string,
  spec: object,
  more: { accepted?: string; reason?: string; generation?: number; uid?: string; created?: string } = {},
) => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Endpoint' as const,
  metadata: {
    name,
    namespace: 'default',
    uid: more.uid ?? `uid-${name}`,
    generation: more.generation ?? 3,
    resourceVersion: '1',
    creationTimestamp: more.created ?? '',
  },
  spec: {
    projectRef: { name: 'shop' },
    displayName: 'x',
    slug: '/v1/orders/{id}',
    method: 'GET',
    action: 'JSON',
    json: { body: '{}' },
    ...spec,
  },
  status: {
    conditions: [{ type: 'Accepted', status: more.accepted ?? 'True', reason: more.reason ?? 'x', message: 'x' }],
  },
});
const responses = [
  { name: 'gold', when: { headers: [{ name: 'X-Plan', value: 'gold' }] }, body: '{}' },
  { name: 'seven', when: { pathParams: [{ name: 'id', value: '7' }] }, body: '{}' },
];

const ROW: LogRow = {
  ...(fc.sample(anyLogRow, { numRuns: 1, seed: 1 })[0] as LogRow),
  id: 'id-1',
  namespace: 'default',
  project: 'shop',
  endpoint: 'orders',
  endpointUid: 'uid-orders',
  endpointGeneration: 3,
  response: 'gold',
  method: 'GET',
  path: '/v1/orders/7',
  query: '',
  requestHeaders: [
    ['X-Plan', 'free'],
    ['x-api-key', 'sha256:0123abcd'],
  ],
};

/** Lists do not contain the responses, because they may be large. */
const resourcesWith = (read: () => Promise<readonly ResourceObject[]>): Partial<Resources> => ({
  list: async () => {
    const objects = await read();
    return objects.map((object) => ({ ...object, spec: { ...(object.spec as object), responses: undefined } }));
  },
  get: async (ref) =>
    ref.kind === 'Endpoint'
      ? (await read()).find(({ metadata }) => metadata.name === ref.name)
      : backendWith({}).resources.get(ref),
});
const serve = (read: () => Promise<readonly ResourceObject[]>): Promise<ApiServer> =>
  startApiServer(() =>
    Promise.resolve(
      backendWith({ row: (id) => Promise.resolve(id === ROW.id ? ROW : undefined) }, resourcesWith(read)),
    ),
  );
const explained = async (...objects: readonly ResourceObject[]) => {
  await using api = await serve(() => Promise.resolve(objects));
  const response = await fetch(`${api.shop}/requests/id-1/explanation`);
  expect(response.status).toBe(200);
  const body: unknown = await response.json();
  // The schema documents every field.
  expect(explanationSchema.parse(body)).toEqual(body);
  return explanationSchema.parse(body);
};

describe('the explanation of a captured request', () => {
  it('names the endpoint, the response, and the unmet conditions of the earlier ones', async () => {
    const explanation = await explained(endpoint('orders', { responses }));
    expect(explanation).toMatchObject({
      requestId: 'id-1',
      captured: { endpoint: 'orders', generation: 3, response: 'gold' },
      isChanged: false,
      endpoint: { namespace: 'default', name: 'orders', generation: 3, slug: '/v1/orders/{id}' },
      response: 'seven',
      unmatched: [{ name: 'gold', unmet: [{ on: 'headers', name: 'x-plan', seen: ['free'] }] }],
    });
    expect(JSON.stringify(explanation)).not.toContain('0123abcd');
  });

  it.each(['Invalid', 'NotPermitted'])(
    'names an endpoint that is not accepted (%s), which keeps its place',
    async (reason) => {
      const mistaken = endpoint('mistaken', { slug: '/v1/orders/7', action: 'Weather' }, { accepted: 'False', reason });
      const explanation = await explained(mistaken, endpoint('orders', {}));
      expect(explanation).toMatchObject({ rejection: 'endpoint_not_accepted', endpoint: { name: 'mistaken' } });
      expect(explanation.endpoint).not.toHaveProperty('action');
      const valid = endpoint('valid', { slug: '/v1/orders/7' });
      for (const objects of [
        [valid, mistaken],
        [mistaken, valid],
      ])
        expect(await explained(...objects)).toMatchObject({ endpoint: { name: 'valid' } });
    },
  );

  it('names the older of two endpoints that are not accepted, as the operator does', async () => {
    const mistaken = (name: string, created: string, uid = name) =>
      endpoint(name, {}, { accepted: 'False', reason: 'Invalid', created, uid });
    const older = mistaken('b', '2026-01-01T00:00:00Z');
    for (const newer of [mistaken('a', '2026-01-02T00:00:00Z'), mistaken('c', '2026-01-01T00:00:00Z')])
      for (const objects of [
        [older, newer],
        [newer, older],
      ])
        expect(await explained(...objects)).toMatchObject({ endpoint: { name: 'b' } });
  });

  it.each([
    { slug: '/v1/orders/7?' },
    { slug: '/v1/orders/7/../7' },
    { slug: 'v1/orders/7' },
    { slug: '/v1/orders/7', projectRef: { name: 'shop', namespace: 'default' } },
    { slug: '/v1/{id}/{id}' },
  ])('leaves out an endpoint that has no place to keep: %j', async (spec) => {
    const mistaken = endpoint('mistaken', spec, { accepted: 'False', reason: 'Invalid' });
    expect(await explained(mistaken, endpoint('orders', {}))).toMatchObject({
      endpoint: { name: 'orders' },
      otherEndpoints: [],
    });
    const alone = await explained(mistaken);
    expect(alone).toMatchObject({ rejection: 'endpoint_not_found', otherEndpoints: [] });
  });

  it('says that a template fails, and which delay a response has', async () => {
    const template = (body: string) => ({ json: { body, template: 'CEL', delay: { type: 'Fixed', fixed: '1s' } } });
    expect(await explained(endpoint('orders', template('"${path.id}"')))).toMatchObject({
      mock: { isTemplate: true, delay: { type: 'Fixed', ms: 1_000 } },
    });
    expect(await explained(endpoint('orders', template('"${request.query.a}"')))).toMatchObject({
      mock: {
        isTemplate: true,
        templateError: 'body: ${request.query.a} at line 1, column 2: there is no field a',
      },
    });
    const forward = { action: 'Forward', json: undefined, forward: { url: 'http://localhost:9000' } };
    expect(await explained(endpoint('orders', forward))).not.toHaveProperty('mock');
  });

  it.each([
    ['has a newer generation', endpoint('orders', {}, { generation: 4 })],
    ['was created again', endpoint('orders', {}, { uid: 'other' })],
    ['was renamed', endpoint('orders-2', {})],
  ])('says that the endpoint %s', async (_, object) => {
    expect(await explained(object)).toMatchObject({ isChanged: true, endpoint: { name: object.metadata.name } });
  });

  it.each([
    'gold',
    [{ name: 'a', when: { headers: [{ name: 'a', type: 'RegularExpression', value: '(' }] }, body: '1' }],
  ])('leaves out the responses of an invalid spec, which the operator has not evaluated yet: %j', async (invalid) => {
    expect(await explained(endpoint('orders', { responses: invalid }))).toMatchObject({ unmatched: [] });
  });

  it('evaluates an endpoint with long expressions in a worker', async () => {
    const cel = Array(39).fill('request.headers.a == "x"').join('||');
    const large = ['a', 'b', 'c'].map((name) => ({ name, when: { cel }, body: '{}' }));
    // Work that is not done in this thread is refused.
    const pool = startWorkers({ callsMax: 0 });
    const workers = pool.for(() => 'ada');
    const explainWith = (list: readonly object[]) => {
      const backend = backendWith(
        {},
        resourcesWith(() => Promise.resolve([endpoint('orders', { responses: list })])),
      );
      return explainRequest({ backend, workers }, ROW);
    };
    await expect(explainWith(responses)).resolves.toMatchObject({ response: 'seven' });
    await expect(explainWith(large)).rejects.toThrow('Too many large requests');
    await pool.close();
  });

  it('says that no endpoint has the path any longer', async () => {
    expect(await explained(endpoint('orders', { slug: '/v2/orders/{id}' }))).toMatchObject({
      isChanged: true,
      rejection: 'endpoint_not_found',
      otherEndpoints: [{ name: 'orders', reason: 'Path' }],
    });
  });

  it('leaves out endpoints that gateways do not serve, and endpoints of other projects', async () => {
    const explanation = await explained(
      endpoint('refused', { slug: '/v1/orders/7' }, { accepted: 'False' }),
      endpoint('foreign', { slug: '/v1/orders/7', projectRef: { name: 'other' } }),
      endpoint('odd', { slug: ['/v1/orders/7'], method: '__proto__' }),
      endpoint('orders', {}),
    );
    expect(explanation).toMatchObject({ endpoint: { name: 'orders' }, otherEndpoints: [] });
  });

  it('requires that the request exists, and permission to list endpoints', async () => {
    await using api = await serve(() => Promise.reject(new SourceError('Forbidden', 'You cannot list endpoints.')));
    const fetchProblem = async (id: string): Promise<unknown> =>
      (await fetch(`${api.shop}/requests/${id}/explanation`)).json();
    expect(await fetchProblem('id-2')).toMatchObject({ status: 404, code: 'request_not_found' });
    expect(await fetchProblem('id-1')).toMatchObject({ status: 403, detail: 'You cannot list endpoints.' });
  });
});
