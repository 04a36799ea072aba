import { LIMITS } from '@standin/contract';
import { expect, it } from 'vitest';
import type { ClusterUser } from './cluster-user.ts';
import { listIn } from './read-objects.ts';

const META = { namespace: 'a', uid: 'u', generation: 1, resourceVersion: '1', creationTimestamp: '' };
const SPEC = { projectRef: { name: 'shop' }, slug: '/orders', method: 'POST', action: 'JSON', json: { body: '{}' } };

const list = async (...items: readonly object[]) => {
  const client = { get: () => Promise.resolve({ metadata: { resourceVersion: '1' }, items }) };
  return listIn({ id: 'ada', client } as unknown as ClusterUser, 'Endpoint', 'a');
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
