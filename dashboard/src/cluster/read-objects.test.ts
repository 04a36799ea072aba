import { LIMITS, SourceError } from '@standin/contract';
import { expect, it } from 'vitest';
import { shownConditions } from '../resources/resource-view.ts';
import type { ClusterUser } from './cluster-user.ts';
import { testUser } from './cluster-user.testing.ts';
import { listIn } from './read-objects.ts';

const META = { namespace: 'a', uid: 'u', generation: 1, resourceVersion: '1', creationTimestamp: '' };
const SPEC = { projectRef: { name: 'shop' }, slug: '/orders', method: 'POST', action: 'JSON', json: { body: '{}' } };

const list = async (...items: readonly object[]) => {
  const client = { get: () => Promise.resolve({ metadata: { resourceVersion: '1' }, items }) };
  return listIn(testUser(client), 'Endpoint', 'a');
};

it('lists a small object as a whole', async () => {
  const responses = [{ name: 'a', body: 'x'.repeat(1_000) }];
  const object = { metadata: { ...META, name: 'orders', labels: { team: 'a' } }, spec: { ...SPEC, responses } };
  expect(await list(object)).toMatchObject([object]);
});

it('lists an object without its large parts', async () => {
  // As long as the operator writes them.
  const conditions = ['Accepted', 'ResolvedRefs', 'Programmed', 'Ready', 'Stalled'].map((type) => ({
    type,
    status: 'False',
    reason: 'Invalid',
    message: 'x'.repeat(LIMITS.conditionMessageLengthMax),
    observedGeneration: 1,
    lastTransitionTime: '2026-11-27T00:00:00Z',
  }));
  const object = {
    metadata: {
      ...META,
      name: 'orders',
      labels: { team: 'a' },
      annotations: { note: 'x'.repeat(100_000), tool: 'argo' },
    },
    spec: {
      ...SPEC,
      json: { body: 'x'.repeat(9_000), status: 201 },
      responses: [{ name: 'a', body: 'x'.repeat(1_000_000) }],
    },
    status: { conditions, url: 'x'.repeat(20_000) },
  };
  const [listed] = await list(object);
  expect(listed?.metadata).toEqual({ ...META, name: 'orders', labels: { team: 'a' }, annotations: { tool: 'argo' } });
  expect(listed?.spec).toEqual({ ...SPEC, json: { status: 201 }, responses: [{ name: 'a' }] });
  expect(listed?.status).toEqual({ conditions });
});

const text = (length: number): string => 'x'.repeat(length);
const condition = (type: string, message = '') => ({
  type,
  status: 'True',
  reason: type,
  message,
  observedGeneration: 1,
  lastTransitionTime: '2026-11-27T00:00:00Z',
});

it.each([
  ['a body', { spec: { json: { body: text(5_000) } } }],
  ['responses', { spec: { responses: Array.from({ length: 20 }, () => ({ name: 'a', body: text(250) })) } }],
  ['headers', { spec: { json: { headers: Array.from({ length: 64 }, () => ({ name: 'a', value: text(70) })) } } }],
  ['a note', { metadata: { annotations: { note: text(5_000) } } }],
  ['labels', { metadata: { labels: Object.fromEntries(Array.from({ length: 70 }, (_, at) => [at, text(63)])) } }],
  [
    'messages',
    { status: { conditions: ['Accepted', 'Programmed', 'Ready'].map((type) => condition(type, text(1_600))) } },
  ],
])('a long list of objects with %s takes a tenth of their size, and has what lists show', async (_, parts) => {
  const object = {
    metadata: { ...META, name: 'orders', ...('metadata' in parts && parts.metadata) },
    spec: { ...SPEC, ...('spec' in parts && parts.spec) },
    status: {
      conditions: ['Accepted', 'Ready'].map((type) => condition(type)),
      ...('status' in parts && parts.status),
    },
  };
  expect(JSON.stringify(object).length).toBeGreaterThan(5_000);
  const items = Array.from({ length: 3_000 }, () => object);
  const client = { get: () => Promise.resolve({ metadata: { resourceVersion: '1' }, items }) };
  let held = 0;
  const hold: ClusterUser['hold'] = (_what, bytes) => {
    held += bytes;
    return Promise.resolve(() => undefined);
  };
  const listed = await listIn(testUser(client, { hold }), 'Endpoint', 'a');
  expect(held).toBeLessThan(2 * 1024 * 1024 + 3_000 * 1_300);
  const last = listed.at(-1);
  expect(JSON.stringify(last).length).toBeLessThan(1_300);
  expect(last?.metadata).toMatchObject({ ...META, name: 'orders' });
  expect(last?.spec).toMatchObject({ projectRef: SPEC.projectRef, slug: '/orders', method: 'POST', action: 'JSON' });
  expect(shownConditions(last ?? {})).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
});

it('waits for its turn only if it has several pages', async () => {
  const turns: number[] = [];
  let pages = 0;
  const client = {
    get: () => {
      pages += 1;
      return Promise.resolve({
        metadata: { resourceVersion: '1', continue: pages % 3 === 0 ? '' : 'more' },
        items: [],
      });
    },
  };
  const holdList = () => Promise.resolve(void turns.push(pages));
  await listIn(testUser(client, { holdList }), 'Endpoint', 'a');
  expect(turns).toEqual([1, 2]);
  pages = 2;
  await listIn(testUser(client, { holdList }), 'Endpoint', 'a');
  expect(turns).toHaveLength(2);
});

it('counts the memory of what it keeps, and reads no further if the share of the user is used up', async () => {
  const items = [{ metadata: { ...META, name: 'orders', annotations: { note: 'x'.repeat(100_000) } }, spec: SPEC }];
  let pages = 0;
  const client = {
    get: () => {
      pages += 1;
      return Promise.resolve({ metadata: { resourceVersion: '1', continue: 'more' }, items });
    },
  };
  let held = 0;
  const hold: ClusterUser['hold'] = (_, bytes) => {
    held += bytes;
    return held > 2_000 ? Promise.reject(new SourceError('Unavailable', 'used up')) : Promise.resolve(() => undefined);
  };
  await expect(listIn(testUser(client, { hold }), 'Endpoint', 'a')).rejects.toThrow('used up');
  expect(pages).toBe(7);
});

it('processes large pages in several steps, between which other requests run', async () => {
  const responses = [{ name: 'a', body: 'x'.repeat(1_000_000) }];
  const items = Array.from({ length: 100 }, () => ({ metadata: { ...META, name: 'o' }, spec: { ...SPEC, responses } }));
  const client = { get: () => Promise.resolve({ metadata: { resourceVersion: '1' }, items }) };
  let steps = 0;
  const step = <T>(work: () => T): Promise<T> => {
    steps += 1;
    return Promise.resolve(work());
  };
  expect(await listIn(testUser(client, { step }), 'Endpoint', 'a')).toHaveLength(100);
  expect(steps).toBeGreaterThan(2);
});
