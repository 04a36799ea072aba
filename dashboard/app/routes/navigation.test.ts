import { SourceError, type Kind, type ResourceObject } from '@standin/contract';
import { expect, it } from 'vitest';
import type { Backend } from '../../src/backend.ts';
import type { NavigationTargets } from '../shell/navigation-targets.ts';
import { loader } from './navigation.ts';

const object = (kind: Kind, name: string, spec: object) =>
  ({ kind, metadata: { namespace: 'team-a', name }, spec }) as unknown as ResourceObject;
const newEndpoint = (project: string, name: string): ResourceObject =>
  object('Endpoint', name, { projectRef: { name: project }, displayName: name, method: 'GET', slug: `/${name}` });

type Lists = Readonly<Record<'Project' | 'Endpoint', () => Promise<readonly ResourceObject[]>>>;

/** Returns the response of `/navigation` to a user who gets these lists from the API server. */
const navigate = async (query: string, lists: Partial<Lists> = {}): Promise<NavigationTargets> => {
  const all: Lists = {
    Project: () => Promise.resolve([object('Project', 'shop', { displayName: 'The shop' })]),
    Endpoint: () => Promise.resolve([newEndpoint('shop', 'orders'), newEndpoint('other', 'refunds')]),
    ...lists,
  };
  const backend = { resources: { list: (kind: keyof Lists) => all[kind]() } } as unknown as Backend;
  const request = new Request(`http://x/navigation?${query}`);
  return (await (await loader({ request, context: { backend } } as never)).json()) as NavigationTargets;
};

const IN_SHOP = 'namespace=team-a&project=shop';
const SHOP = { namespace: 'team-a', project: 'shop', title: 'The shop' };

it('the targets are the projects and the endpoints of the current project', async () => {
  expect(await navigate('')).toMatchObject({ projects: [SHOP], endpoints: [] });
  expect(await navigate(IN_SHOP)).toMatchObject({
    projects: [SHOP],
    endpoints: [{ endpoint: 'orders', title: 'orders', route: 'GET /orders' }],
  });
});

const failing = (kind: 'Forbidden' | 'Unavailable') => () => Promise.reject(new SourceError(kind, 'no'));

it('a user who may not list the endpoints of a project can still go to another one', async () => {
  expect(await navigate(IN_SHOP, { Endpoint: failing('Forbidden') })).toMatchObject({
    projects: [SHOP],
    endpoints: [],
  });
});

it('other failures are reported', async () => {
  await expect(navigate(IN_SHOP, { Endpoint: failing('Unavailable') })).rejects.toThrow('no');
  await expect(navigate('', { Project: failing('Forbidden') })).rejects.toThrow('no');
});

it('a search finds projects and endpoints beyond the first thousand', async () => {
  const names = Array.from({ length: 1_500 }, (_, index) => `item-${index}`);
  const lists = {
    Project: () => Promise.resolve(names.map((name) => object('Project', name, {}))),
    Endpoint: () => Promise.resolve(names.map((name) => newEndpoint('shop', name))),
  };
  const { projects, endpoints, isPartial } = await navigate(IN_SHOP, lists);
  expect({ isPartial, counts: [projects.length, endpoints.length] }).toEqual({
    isPartial: true,
    counts: [1_000, 1_000],
  });
  const found = await navigate(`${IN_SHOP}&q=ITEM+1499`, lists);
  expect(found.isPartial).toBe(true);
  expect([found.projects[0]?.project, found.endpoints[0]?.endpoint]).toEqual(['item-1499', 'item-1499']);
  // A search is cut off after 200 characters, because it is compared with each target.
  const long = await navigate(`${IN_SHOP}&q=${'%20'.repeat(191)}item-1499zzz`, lists);
  expect(long.projects[0]?.project).toBe('item-1499');
  expect(await navigate(`${IN_SHOP}&q=zz`, lists)).toMatchObject({ projects: [], endpoints: [] });
  expect(await navigate(IN_SHOP)).toMatchObject({ isPartial: false });
});
