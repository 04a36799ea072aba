import { expect, it } from 'vitest';
import { AccessReviews } from './access-reviews.ts';
import { testUser } from './cluster-user.testing.ts';

const QUESTION = { verb: 'list', resource: 'mockprojects', namespace: 'team' } as const;

it('asks again for a request that waits for the question of a request that has ended', async () => {
  const reviews = new AccessReviews();
  const left = new AbortController();
  const create = () =>
    new Promise((_, reject) => left.signal.addEventListener('abort', () => reject(new Error('left'))));
  const first = reviews.may(testUser({ create }, { signal: left.signal }), QUESTION);
  const second = reviews.may(testUser({ create: () => Promise.resolve({ status: { allowed: true } }) }), QUESTION);
  left.abort();
  await expect(first).rejects.toThrow('left');
  expect(await second).toBe(true);
});
