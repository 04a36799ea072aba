import { expect, it } from 'vitest';
import { AccessReviews, type AccessQuestion } from './access-reviews.ts';
import { testUser } from './cluster-user.testing.ts';

const QUESTION = { verb: 'list', resource: 'mockprojects', namespace: 'team' } as const;

it('asks again for a request that waits for the question of a request that has ended', async () => {
  const reviews = new AccessReviews();
  const left = new AbortController();
  const create = () =>
    new Promise((_, reject) => left.signal.addEventListener('abort', () => reject(new Error('left'))));
  const first = reviews.may(testUser({ create }, { signal: left.signal }), QUESTION);
  const second = reviews.may(testUser({ create: () => Promise.resolve({ status: { allowed: true } }) }), QUESTION);
  await new Promise(setImmediate);
  left.abort();
  await expect(first).rejects.toThrow('left');
  expect(await second).toBe(true);
});

it.each<[string, Partial<AccessQuestion>]>([
  ['verb', { verb: 'get' }],
  ['resource', { resource: 'mockendpoints' }],
  ['subresource', { resource: 'mockprojects/logs' }],
  ['namespace', { namespace: 'other' }],
  ['set of namespaces', { namespace: undefined }],
  ['object', { name: 'shop' }],
])('an answer is not that to a question about another %s', async (_, difference) => {
  const reviews = new AccessReviews();
  const answers = [true, false];
  const create = () => Promise.resolve({ status: { allowed: answers.shift() } });
  const ask = (question: AccessQuestion) => reviews.may(testUser({ create }), question);
  const [known, other] = [QUESTION, { ...QUESTION, ...difference }];
  expect([await ask(known), await ask(other), await ask(known)]).toEqual([true, false, true]);
});

it('remembers what a user may do, however many tokens another user has', async () => {
  const reviews = new AccessReviews();
  let asked = 0;
  const create = () => {
    asked += 1;
    return Promise.resolve({ status: { allowed: true } });
  };
  const ask = (holder: string, id: string) =>
    reviews.may(testUser({ create }, { id, findHolder: () => Promise.resolve(holder) }), QUESTION);
  await ask('bob', 'bob');
  for (let token = 0; token < 20_000; token += 1) await ask('ada', `ada ${token}`);
  await ask('bob', 'bob');
  expect(asked).toBe(20_001);
  await ask('ada', 'ada 0');
  expect(asked).toBe(20_002);
});
