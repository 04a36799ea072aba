import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { AccessReviews } from './access-reviews.ts';
import type { ClusterUser } from './cluster-user.ts';
import { listVisible } from './list-visible.ts';

const NAMESPACES = Array.from({ length: 20 }, (_, index) => `team-${index}`);
const PROJECTS = Array.from({ length: 20 }, (_, index) => `shop-${index}`);

interface Review {
  readonly spec: { readonly resourceAttributes: { readonly verb: string } };
}

/**
 * Returns a user who may get every project but may list none, and a function that returns the largest number of concurrent calls.
 */
const startUser = () => {
  let open = 0;
  let openMax = 0;
  const call = async <T>(answer: T): Promise<T> => {
    open += 1;
    openMax = Math.max(openMax, open);
    await nextTurn();
    open -= 1;
    return answer;
  };
  const client = {
    create: (_: string, { spec }: Review) => call({ status: { allowed: spec.resourceAttributes.verb === 'get' } }),
    get: (path: string) => {
      const [, namespace = '', name = ''] = /namespaces\/([^/]+)\/[^/]+\/([^/]+)$/.exec(path) ?? [];
      return call({ metadata: { namespace, name, uid: `${namespace}/${name}`, generation: 1 }, spec: {} });
    },
  };
  return { user: { id: 'ada', client } as unknown as ClusterUser, openMax: () => openMax };
};

it('gets the projects of all namespaces with at most 8 calls at the same time', async () => {
  const { user, openMax } = startUser();
  const index = { serves: () => true, namespaces: () => NAMESPACES, projects: () => PROJECTS };
  const found = await listVisible({ user, reviews: new AccessReviews(), index }, 'Project');
  expect(found.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)).toEqual(
    NAMESPACES.flatMap((namespace) => PROJECTS.map((name) => `${namespace}/${name}`)),
  );
  expect(openMax()).toBe(8);
});
