import { expect, it } from 'vitest';
import type { Backend } from '../../src/backend.ts';
import { loader as loadProjects } from './projects.tsx';
import { loader as loadShares } from './settings-shares.tsx';

const COUNT = 600;
const objects = (kind: string, spec: (index: number) => object) =>
  Array.from({ length: COUNT }, (_, index) => ({
    kind,
    apiVersion: 'standin.dev/v1alpha1',
    metadata: {
      name: `item-${index}`,
      namespace: 'team-a',
      uid: `${kind}-${index}`,
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: '2026-11-27T00:00:00Z',
    },
    spec: spec(index),
  }));
const lists: Readonly<Record<string, readonly object[]>> = {
  Project: objects('Project', () => ({ displayName: 'Shop', accountRef: { name: 'team' } })),
  Share: objects('Share', (index) => ({
    projectRef: { name: 'shop' },
    requestId: '0190c2f0-0000-7000-8000-000000000003',
    tokenSha256: index.toString(16).padStart(64, '0'),
    expiresAt: '2026-12-01T00:00:00Z',
  })),
  Account: [],
};
const counted: number[] = [];
const backend = {
  gatewayUrl: 'http://gateway',
  resources: {
    list: (kind: string) => Promise.resolve(lists[kind]),
    get: ({ kind }: { kind: string }) => Promise.resolve(lists[kind]?.[0]),
    findIdentity: ({ metadata }: { metadata: object }) => Promise.resolve(metadata),
  },
  logs: {
    requestsByHour: (projects: readonly object[]) => {
      counted.push(projects.length);
      return Promise.resolve(new Map());
    },
  },
} as unknown as Backend;

it('the page of projects lists at most 500, and counts requests only for these', async () => {
  const { projects, total } = await loadProjects({ context: { backend } } as never);
  expect([projects.length, total, counted]).toEqual([500, COUNT, [500]]);
});

it('the page of links lists the newest 200', async () => {
  const params = { namespace: 'team-a', project: 'shop' };
  const { shares, total } = await loadShares({ params, context: { backend } } as never);
  expect([shares.length, total]).toEqual([200, COUNT]);
});
