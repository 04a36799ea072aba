import { LIMITS, SourceError } from '@standin/contract';
import { expect, it } from 'vitest';
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
  expect(listed?.spec).toEqual({ ...SPEC, json: { status: 201 } });
  expect(listed?.status).toEqual({ conditions });
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
