import { expect, it } from 'vitest';
import { testUser } from '../cluster/cluster-user.testing.ts';
import { userNames } from './user-names.ts';

const named = (username: string) => Promise.resolve({ status: { userInfo: { username } } });

it('asks once for each token, and again after a failure', async () => {
  const answers = [Promise.reject(new Error('unreachable')), named('ada'), named('other')];
  const user = testUser({ create: () => answers.shift() });
  const nameUser = userNames();
  expect([await nameUser(user), await nameUser(user), await nameUser(user)]).toEqual([undefined, 'ada', 'ada']);
});

it('asks again for a request that has not ended', async () => {
  const nameUser = userNames();
  const left = new AbortController();
  const create = () =>
    new Promise((_, reject) => left.signal.addEventListener('abort', () => reject(new Error('left'))));
  const first = nameUser(testUser({ create }, { signal: left.signal }));
  const second = nameUser(testUser({ create: () => named('ada') }));
  await new Promise(setImmediate);
  left.abort();
  expect(await Promise.all([first, second])).toEqual([undefined, 'ada']);
});

it('remembers users, however many invalid tokens there are', async () => {
  const nameUser = userNames(2);
  let asked = 0;
  const ada = testUser({ create: () => named(`ada ${(asked += 1)}`) });
  await nameUser(ada);
  const invalid = { create: () => Promise.reject(new Error('invalid')) };
  await Promise.all(Array.from({ length: 10 }, (_, index) => nameUser(testUser(invalid, { id: `invalid ${index}` }))));
  expect(await nameUser(ada)).toBe('ada 1');
});

it('remembers users, however many tokens another user has', async () => {
  const nameUser = userNames(4);
  let asked = 0;
  const user = (id: string, name: string) => {
    const create = () => {
      asked += 1;
      return named(name);
    };
    return testUser({ create }, { id: `${id} of ${name}` });
  };
  await nameUser(user('token', 'bob'));
  for (let token = 0; token < 10; token += 1) await nameUser(user(`token ${token}`, 'ada'));
  expect(await nameUser(user('token', 'bob'))).toBe('bob');
  expect(asked).toBe(11);
});
