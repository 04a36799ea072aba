import { LIMITS, SourceError, type ClaimedIdentity, type ResourceObject } from '@standin/contract';
import { expect, test } from 'vitest';
import { Identities } from './identities.ts';

const object = (kind: ResourceObject['kind'], name: string, status?: object, namespace = 'a'): ResourceObject => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind,
  spec: {},
  status,
  metadata: {
    name,
    namespace,
    uid: `uid of ${name}`,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
});

/** Creates identities with an operator that confirms the id `first`. */
const testIdentities = (
  hold: (claimed: ClaimedIdentity) => boolean = ({ uid }) => uid === 'first',
  confirmedMax?: number,
) => {
  const asked: (readonly ClaimedIdentity[])[] = [];
  const operator = {
    holdIdentities: (claimed: readonly ClaimedIdentity[]) => {
      asked.push(claimed);
      return Promise.resolve(claimed.map(hold));
    },
  };
  const identities = new Identities(operator, confirmedMax);
  return { identities, asked };
};

test.each([
  ['without a status', object('Project', 'shop')],
  ['with its own uid in its status', object('Project', 'shop', { id: 'uid of shop' })],
  ['of a kind without identities', object('Endpoint', 'shop', { id: 'first' })],
])('an object %s has its own uid, without a question', async (_, given) => {
  const { identities, asked } = testIdentities();
  expect(await identities.of(given)).toEqual({ namespace: 'a', name: 'shop', uid: 'uid of shop' });
  expect(asked).toEqual([]);
});

test('another identity is asked for once, with kind, namespace and name', async () => {
  const { identities, asked } = testIdentities();
  for (let times = 0; times < 2; times += 1)
    expect((await identities.of(object('Project', 'shop', { id: 'first' }))).uid).toBe('first');
  expect(asked).toEqual([[{ kind: 'Project', namespace: 'a', name: 'shop', uid: 'first' }]]);
});

test('an identity that the operator does not confirm is refused each time', async () => {
  const { identities, asked } = testIdentities();
  for (let times = 0; times < 2; times += 1)
    await expect(identities.of(object('Account', 'team', { id: 'other' }))).rejects.toMatchObject({
      kind: 'Unavailable',
      message: expect.stringContaining('Account a/team') as string,
    });
  expect(asked).toHaveLength(2);
});

test('a confirmed identity does not confirm another one of the same object', async () => {
  const { identities } = testIdentities();
  await identities.of(object('Project', 'shop', { id: 'first' }));
  await expect(identities.of(object('Project', 'shop', { id: 'second' }))).rejects.toBeInstanceOf(SourceError);
});

test('the identities of one page are asked for together', async () => {
  const { identities, asked } = testIdentities(() => true);
  const count = LIMITS.identitiesAskedMax + 1;
  const given = Array.from({ length: count }, (_, index) => object('Project', `p${index}`, { id: `first-${index}` }));
  const found = await Promise.all(given.map((one) => identities.of(one)));
  expect(found.map(({ uid }) => uid)).toEqual(given.map((_, index) => `first-${index}`));
  expect(asked.map(({ length }) => length)).toEqual([LIMITS.identitiesAskedMax, 1]);
});

test('a namespace with many identities does not displace those of another namespace', async () => {
  const { identities, asked } = testIdentities(() => true, 4);
  const restored = object('Project', 'shop', { id: 'first' });
  await identities.of(restored);
  for (let index = 0; index < 10; index += 1)
    await identities.of(object('Project', `p${index}`, { id: `first-${index}` }, 'b'));
  asked.length = 0;
  await identities.of(restored);
  expect(asked).toEqual([]);
});

test('a failed question fails its reads, and the next read asks again', async () => {
  let isAway = true;
  const identities = new Identities({
    holdIdentities: (claimed) =>
      isAway ? Promise.reject(new SourceError('Unavailable', 'no operator')) : Promise.resolve(claimed.map(() => true)),
  });
  const restored = object('Project', 'shop', { id: 'first' });
  await expect(identities.of(restored)).rejects.toThrow('no operator');
  isAway = false;
  expect((await identities.of(restored)).uid).toBe('first');
});
