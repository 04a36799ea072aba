import { expect, it } from 'vitest';
import type { ClusterUser } from './cluster-user.ts';
import { listIn } from './read-objects.ts';

const META = { namespace: 'a', uid: 'u', generation: 1, resourceVersion: '1', creationTimestamp: '' };
const SPEC = { projectRef: { name: 'shop' }, slug: '/orders', method: 'POST', action: 'JSON', json: { body: '{}' } };

const list = async (...items: readonly object[]) => {
  const client = { get: () => Promise.resolve({ metadata: { resourceVersion: '1' }, items }) };
  return listIn({ id: 'ada', client } as unknown as ClusterUser, 'Endpoint', 'a');
};

it('lists an object of ordinary size as a whole', async () => {
  const responses = [{ name: 'a', body: 'x'.repeat(20_000) }];
  const object = { metadata: { ...META, name: 'orders', labels: { team: 'a' } }, spec: { ...SPEC, responses } };
  expect(await list(object)).toMatchObject([object]);
});

it('lists a large object without its large parts', async () => {
  const conditions = [{ type: 'Ready', status: 'True' }];
  const large = {
    metadata: { ...META, name: 'orders', labels: { team: 'a' }, annotations: { note: 'x'.repeat(100_000) } },
    spec: { ...SPEC, responses: [{ name: 'a', body: 'x'.repeat(1_000_000) }] },
    status: { conditions, url: 'x'.repeat(20_000) },
  };
  const [listed] = await list(large);
  expect(listed?.metadata).toEqual({ ...META, name: 'orders', labels: { team: 'a' } });
  expect(listed?.spec).toEqual(SPEC);
  expect(listed?.status).toEqual({ conditions });
  expect(JSON.stringify(listed).length).toBeLessThan(1_000);
});
