import { GROUP_VERSION, LIMITS, REJECTIONS, type RefusalCount, type ResourceObject } from '@standin/contract';
import { expect, it } from 'vitest';
import type { Backend } from '../backend.ts';
import { findAcceptances, refusedCount, refusedRequests } from './refused-requests.ts';

const PROJECT = { namespace: 'team', project: 'shop' };

const object = (kind: ResourceObject['kind'], name: string, spec: object): ResourceObject => ({
  apiVersion: GROUP_VERSION,
  kind,
  spec,
  metadata: {
    name,
    namespace: 'team',
    uid: `uid of ${name}`,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-11-21T10:00:00Z',
  },
});
const endpoint = (name: string, slug: string, method: string): ResourceObject =>
  object('Endpoint', name, { projectRef: { name: 'shop' }, slug, method });

const refused = (more: Partial<RefusalCount>): RefusalCount => ({
  code: 'api_key_missing',
  sender: 'GitHub',
  count: 1,
  lastAt: Date.UTC(2026, 10, 21),
  ...more,
});

const testBackend = (counts: readonly RefusalCount[], endpoints: readonly ResourceObject[] = []): Backend =>
  ({
    resources: {
      get: () => Promise.resolve(object('Project', 'shop', {})),
      list: () => Promise.resolve(endpoints),
      findIdentity: ({ metadata }: ResourceObject) => Promise.resolve(metadata),
    },
    logs: { refusals: () => Promise.resolve({ counts, omitted: 2 }) },
  }) as unknown as Backend;
const read = (...counts: readonly RefusalCount[]) => refusedRequests(testBackend(counts), PROJECT);

it.each<[string, Partial<RefusalCount>, boolean]>([
  ['a sender that signs and sent no key', {}, true],
  ['a sender that signs and sent a wrong key', { code: 'api_key_invalid' }, false],
  ['a sender that signs, over its quota', { code: 'quota_exceeded' }, false],
  ['a sender that does not sign', { sender: undefined }, false],
])('the advice for %s', async (_, more, isAboutSignatures) => {
  const { items } = await read(refused({ slug: '/hook', ...more }));
  expect(items[0]?.detail.includes('Set spec.credential')).toBe(isAboutSignatures);
  expect(items[0]?.lastAt).toBe('2026-11-21T00:00:00.000Z');
  const backend = testBackend([], [endpoint('hook', '/hook', 'POST')]);
  expect(await findAcceptances(backend, PROJECT, items)).toEqual([
    isAboutSignatures ? { scheme: 'GitHub', endpoint: 'hook' } : undefined,
  ]);
});

it('a refused request has the words of its problem document, and an unknown code has its own', async () => {
  const { items } = await read(refused({ code: 'quota_exceeded' }), refused({ code: 'later' }));
  const { status, title, detail } = REJECTIONS.quota_exceeded;
  expect(items[0]).toMatchObject({ status, title, detail });
  expect(items[1]).toMatchObject({ title: 'later', detail: expect.stringContaining('newer version') as string });
  expect(items[1]?.status).toBeUndefined();
});

it('the endpoint of a refused request is the one with its slug, preferably for POST', async () => {
  const long = `/${'x'.repeat(LIMITS.refusalPathLengthMax)}`;
  const endpoints = [
    endpoint('get', '/hook', 'GET'),
    endpoint('post', '/hook', 'POST'),
    endpoint('other', '/other', 'PUT'),
    endpoint('long', `${long}y`, 'POST'),
  ];
  const items = ['/hook', '/other', '/none', undefined, long.slice(0, LIMITS.refusalPathLengthMax)].map((slug) =>
    refused(slug === undefined ? {} : { slug }),
  );
  const found = await findAcceptances(testBackend([], endpoints), PROJECT, (await read(...items)).items);
  expect(found.map((one) => one?.endpoint)).toEqual(['post', 'other', undefined, undefined, 'long']);
});

it('requests that were counted but not listed are part of the number', async () => {
  expect(refusedCount(await read(refused({ count: 3 }), refused({ count: 4 })))).toBe(9);
});
