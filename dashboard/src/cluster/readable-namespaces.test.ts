import { expect, it } from 'vitest';
import { AccessReviews } from './access-reviews.ts';
import { testUser } from './cluster-user.testing.ts';
import { ReadableNamespaces } from './readable-namespaces.ts';

const NAMESPACES = new Map([['team', { number: 1, projects: new Set(['shop']) }]]);

it('remembers what a user may read, however many tokens another user has', async () => {
  const index = { serves: () => true, namespaces: () => NAMESPACES };
  const readable = new ReadableNamespaces({ reviews: new AccessReviews(), index });
  let reviews = 0;
  const create = () => {
    reviews += 1;
    return Promise.resolve({ status: { resourceRules: [] } });
  };
  const ask = (holder: string, id: string) =>
    readable.find(testUser({ create }, { id, findHolder: () => Promise.resolve(holder) }), 'Project');
  await ask('bob', 'bob');
  for (let token = 0; token < 2_100; token += 1) await ask('ada', `ada ${token}`);
  expect(reviews).toBe(2_101);
  await ask('bob', 'bob');
  expect(reviews).toBe(2_101);
  await ask('ada', 'ada 0');
  expect(reviews).toBe(2_102);
});

it('asks again for a request that waits for the questions of a request that has ended', async () => {
  const index = { serves: () => true, namespaces: () => NAMESPACES };
  const readable = new ReadableNamespaces({ reviews: new AccessReviews(), index });
  const left = new AbortController();
  const create = () =>
    new Promise((_, reject) => left.signal.addEventListener('abort', () => reject(new Error('left'))));
  const rule = { verbs: ['list'], apiGroups: ['*'], resources: ['*'] };
  const first = readable.find(testUser({ create }, { signal: left.signal }), 'Project').catch(String);
  const answer = { status: { resourceRules: [rule] } };
  const second = readable.find(testUser({ create: () => Promise.resolve(answer) }), 'Project');
  await new Promise(setImmediate);
  left.abort();
  expect(await Promise.all([first, second])).toEqual(['Error: left', new Map([['team', 'all']])]);
});
