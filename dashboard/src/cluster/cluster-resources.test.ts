import { GROUP_VERSION } from '@standin/contract';
import type { CallOptions } from '@standin/kube';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import type { ExpectedVersion } from '../backend.ts';
import { AccessReviews } from './access-reviews.ts';
import { clusterResources } from './cluster-resources.ts';
import { testUser } from './cluster-user.testing.ts';
import { Identities } from './identities.ts';
import { LiveChanges } from './live-changes.ts';
import { ReadableNamespaces } from './readable-namespaces.ts';
import type { ResourceIndex } from './resource-index.ts';

const called = (): Promise<never> => Promise.reject(new Error('the API server was called'));

const openResources = (user = testUser({ get: called, create: called, replace: called, remove: called })) => {
  const reviews = new AccessReviews();
  const index: ResourceIndex = { serves: (namespace) => namespace !== 'left', namespaces: () => new Map() };
  return clusterResources({
    user,
    reviews,
    index,
    readable: new ReadableNamespaces({ reviews, index }),
    identities: new Identities({ holdIdentities: called }),
    changes: new LiveChanges(reviews, pino({ level: 'silent' })),
  });
};

const projectIn = (namespace: string) => ({
  apiVersion: GROUP_VERSION,
  kind: 'Project' as const,
  metadata: { namespace, name: 'shop' },
  spec: { displayName: 'Shop', accountRef: { name: 'team' } },
});

it.each(['absent', { uid: 'u', generation: 1 }] as ExpectedVersion[])(
  'only a dry run ends if the user leaves, if the object is expected to be %j',
  async (expected) => {
    const sent: unknown[] = [];
    const object = projectIn('served');
    const current = {
      ...object,
      metadata: { ...object.metadata, uid: 'u', generation: 1, resourceVersion: '1' },
      spec: {},
    };
    const write = (signal: unknown) => {
      sent.push(signal);
      return Promise.resolve(current);
    };
    const client = {
      get: () => Promise.resolve(current),
      create: (_path: string, _body: unknown, { signal }: CallOptions) => write(signal),
      replace: (_path: string, _body: unknown, _version: unknown, { signal }: CallOptions) => write(signal),
    };
    const user = testUser(client);
    const resources = openResources(user);
    await resources.check(object, expected);
    await resources.apply(object, expected);
    expect(sent).toEqual([user.signal, undefined]);
  },
);

it('deletes only the object that the user has seen, and not a later one with its name', async () => {
  const calls: unknown[] = [];
  const remove = (...call: unknown[]) => Promise.resolve(void calls.push(call));
  const resources = openResources(testUser({ remove, removeByName: called }));
  await resources.delete({ kind: 'Project', namespace: 'served', name: 'shop' }, 'seen');
  expect(calls).toEqual([[expect.stringMatching(/\/served\/.*\/shop$/), { preconditions: { uid: 'seen' } }]]);
});

describe('in a namespace that is not served', () => {
  const ref = { kind: 'Project', namespace: 'left', name: 'shop' } as const;

  it('there are no objects', async () => {
    const resources = openResources();
    expect(await resources.get(ref)).toBeUndefined();
    expect(await resources.list('Project', 'left')).toEqual([]);
  });

  it('nothing is written', async () => {
    const resources = openResources();
    const problems = [
      { path: 'metadata.namespace', message: expect.stringContaining('namespace left is not served') as string },
    ];
    expect(await resources.apply(projectIn('left'), 'absent')).toEqual({ ok: false, problems });
    expect(await resources.check(projectIn('left'), 'absent')).toEqual(problems);
    await expect(resources.delete(ref, 'uid')).rejects.toMatchObject({ kind: 'NotFound' });
  });

  it('other namespaces are not affected', async () => {
    const resources = openResources();
    await expect(resources.get({ ...ref, namespace: 'served' })).rejects.toThrow('the API server was called');
    await expect(resources.apply(projectIn('served'), 'absent')).rejects.toThrow('the API server was called');
  });
});
