import { setImmediate as nextTurn } from 'node:timers/promises';
import { API_GROUP } from '@standin/contract';
import { ApiError, ResponseTooLargeError } from '@standin/kube';
import { expect, it } from 'vitest';
import { AccessReviews } from './access-reviews.ts';
import { testUser } from './cluster-user.testing.ts';
import { listVisible } from './list-visible.ts';
import { ReadableNamespaces } from './readable-namespaces.ts';

/** Names with numbers that sort in this order. */
const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(5, '0')}`);

interface Rule {
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface UserOptions {
  /** The user's rules for projects, by namespace. */
  readonly rules: ReadonlyMap<string, readonly Rule[]>;
  /** Namespaces in which a webhook allows the user to list projects. Webhooks do not report rules. */
  readonly webhook?: readonly string[];
  /** The projects, by namespace. */
  readonly projects: ReadonlyMap<string, readonly string[]>;
  readonly now?: () => number;
}

interface Review {
  readonly spec: {
    readonly namespace?: string;
    readonly resourceAttributes?: { readonly verb: string; readonly namespace?: string };
  };
}

/** A namespace whose owner has created so many rules for the user that they are not read. */
const LARGE = 'large';
const apiError = (status: number, reason: string): ApiError => new ApiError(reason, { status, reason, request: '' });

/** Starts the lists of a user who may not list all namespaces. Counts the calls of the API server. */
const startUser = ({ rules, webhook, projects, now = () => 0 }: UserOptions) => {
  const counts = { reviews: 0, reads: 0, openMax: 0 };
  let open = 0;
  const call = async <T>(answer: T): Promise<T> => {
    open += 1;
    counts.openMax = Math.max(counts.openMax, open);
    await nextTurn();
    open -= 1;
    return answer;
  };
  const project = (namespace: string, name: string) => ({
    metadata: { namespace, name, uid: `${namespace}/${name}`, generation: 1 },
    spec: {},
  });
  const mayList = (namespace: string): boolean =>
    webhook?.includes(namespace) === true || rules.get(namespace)?.some(({ verbs }) => verbs.includes('list')) === true;
  const client = {
    create: (path: string, { spec }: Review) => {
      counts.reviews += 1;
      if (path.endsWith('/selfsubjectaccessreviews'))
        return call({ status: { allowed: webhook?.includes(spec.resourceAttributes?.namespace ?? '') === true } });
      if (spec.namespace === LARGE) return Promise.reject(new ResponseTooLargeError());
      const resourceRules = (rules.get(spec.namespace ?? '') ?? []).map((rule) => ({
        apiGroups: [API_GROUP],
        resources: ['mockprojects'],
        ...rule,
      }));
      return call({ status: { resourceRules, incomplete: webhook !== undefined } });
    },
    get: (path: string) => {
      counts.reads += 1;
      const [, namespace = '', name] = /namespaces\/([^/]+)\/[^/]+(?:\/([^/]+))?$/.exec(path) ?? [];
      if (name !== undefined) return call(project(namespace, name));
      if (!mayList(namespace)) return Promise.reject(apiError(403, 'Forbidden'));
      const items = (projects.get(namespace) ?? []).map((each) => project(namespace, each));
      return call({ metadata: { resourceVersion: '1' }, items });
    },
  };
  const indexed = () =>
    new Map(
      [...projects].map(([namespace, found], number) => [namespace, { number: number + 1, projects: new Set(found) }]),
    );
  const user = testUser(client);
  const index = { serves: () => true, namespaces: indexed };
  const reviews = new AccessReviews(now);
  const readable = new ReadableNamespaces({ reviews, index, now });
  const list = async (): Promise<string[]> => {
    const found = await listVisible({ user, reviews, index, readable }, 'Project');
    return found.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
  };
  return { list, counts };
};

const LIST = [{ verbs: ['list'] }];

it('shows the projects of a user however many other namespaces there are', async () => {
  const projects = new Map([...names('aaa', 3_000), 'team'].map((namespace) => [namespace, ['shop']]));
  const { list, counts } = startUser({ rules: new Map([['team', LIST]]), projects });
  expect(await list()).toEqual(['team/shop']);
  // One more asks whether the user may list all namespaces.
  expect(counts.reviews).toBe(3_002);
  expect(await list()).toEqual(['team/shop']);
  expect(counts.reviews).toBe(3_002);
});

it('shows the project that a role names however many other projects its namespace has', async () => {
  const projects = new Map([['team', [...names('aaa', 3_000), 'shop']]]);
  const rules = new Map([['team', [{ verbs: ['get'], resourceNames: ['shop', 'removed'] }]]]);
  const { list, counts } = startUser({ rules, projects });
  expect(await list()).toEqual(['team/shop']);
  expect(counts).toMatchObject({ reviews: 2, reads: 1 });
});

it('gets the projects of all namespaces with at most 8 calls at the same time', async () => {
  const all = names('team', 20);
  const projects = new Map(all.map((namespace) => [namespace, names('shop', 20)]));
  const rules = new Map(all.map((namespace) => [namespace, [{ verbs: ['*'], resourceNames: names('shop', 20) }]]));
  const { list, counts } = startUser({ rules, projects });
  const expected = all.flatMap((namespace) => names('shop', 20).map((name) => `${namespace}/${name}`));
  expect((await list()).toSorted()).toEqual(expected);
  expect(counts.openMax).toBe(8);
});

it('lists a namespace that the rules of the user do not contain, because they are incomplete or too large', async () => {
  const projects = new Map([LARGE, 'other', 'team'].map((namespace) => [namespace, ['shop']]));
  const { list } = startUser({ rules: new Map(), webhook: [LARGE, 'team'], projects });
  expect(await list()).toEqual(['large/shop', 'team/shop']);
});

it('asks about at most 500 namespaces again in 15 seconds, and about each of them in turn', async () => {
  let now = 0;
  const projects = new Map([...names('aaa', 1_199), 'team'].map((namespace) => [namespace, ['shop']]));
  const rules = new Map<string, readonly Rule[]>();
  const { list, counts } = startUser({ rules, projects, now: () => now });
  expect(await list()).toEqual([]);
  rules.set('team', LIST);
  const shown: boolean[] = [];
  for (let round = 0; round < 3; round += 1) {
    now += 15_000;
    const before = counts.reviews;
    shown.push((await list()).includes('team/shop'), (await list()).includes('team/shop'));
    expect(counts.reviews - before).toBe(501);
  }
  expect(shown).toEqual([false, false, false, false, true, true]);
});

it('shows the projects of a new namespace at once', async () => {
  const projects = new Map([['team', ['shop']]]);
  const rules = new Map<string, readonly Rule[]>();
  const { list } = startUser({ rules, projects });
  expect(await list()).toEqual([]);
  rules.set('new', LIST);
  projects.set('new', ['shop']);
  expect(await list()).toEqual(['new/shop']);
});

it('says that it could not ask about all namespaces in time, and then continues', async () => {
  let now = 0;
  const projects = new Map([...names('aaa', 300), 'team'].map((namespace) => [namespace, ['shop']]));
  // The clock advances by 4 s whenever it is read, which is after each 100 namespaces.
  const { list } = startUser({ rules: new Map([['team', LIST]]), projects, now: () => (now += 4_000) });
  await expect(list()).rejects.toMatchObject({
    kind: 'Unavailable',
    message: expect.stringContaining('has checked only 200 of 301 namespaces') as string,
  });
  expect(await list()).toEqual(['team/shop']);
});

it('leaves out a namespace whose permission was revoked after it was asked about', async () => {
  const rules = new Map([
    ['left', LIST],
    ['team', LIST],
  ]);
  const projects = new Map(['left', 'team'].map((namespace) => [namespace, ['shop']]));
  const { list } = startUser({ rules, projects });
  expect(await list()).toEqual(['left/shop', 'team/shop']);
  rules.delete('left');
  expect(await list()).toEqual(['team/shop']);
});
