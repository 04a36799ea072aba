import { LIMITS, type ConfigObject } from '@standin/contract';
import { expect, test } from 'vitest';
import { account, BASIC_OBJECTS, endpoint, KEY, OTHER_KEY, project, quiet } from '../gateway.testing.ts';
import { ConfigStore } from './config-store.ts';
import { objectAsJson } from './disk-copy.ts';

test.each([
  ['served within maxStalenessMs', { uptimeMs: 5_000, wallMs: 5_000 }, true],
  ['refused after that time on both clocks', { uptimeMs: 5_001, wallMs: 5_001 }, false],
  ['refused after the machine has been suspended', { uptimeMs: 10, wallMs: 3_600_000 }, false],
  ['served after the clock was set back', { uptimeMs: 10, wallMs: -3_600_000 }, true],
  ['refused after that time, although the clock was set back', { uptimeMs: 5_001, wallMs: -3_600_000 }, false],
])('requests are %s', (_name, passed, isServing) => {
  let atMs = Date.UTC(2026, 10, 22);
  const store = new ConfigStore({ logger: quiet, maxStalenessMs: 5_000, clock: () => atMs });
  store.restore({ epoch: 1, number: 1 }, BASIC_OBJECTS);
  const uptimeMs = 60_000;
  store.confirmed({ uptimeMs, atMs });
  atMs += passed.wallMs;
  expect(store.tableAt(uptimeMs + passed.uptimeMs) !== undefined).toBe(isServing);
});

const signed = (...secretIds: string[]): ConfigObject =>
  endpoint('/hook', {}, { credential: { kind: 'Signature', signature: { scheme: 'GitHub' }, secretIds } });
const secretsIn = (store: ConfigStore) => {
  const credential = store.endpoint('endpoint-post-hook')?.credential;
  return credential && store.secretValues(credential)?.map((value) => Buffer.from(value).toString());
};

test('the secrets of an endpoint are available when the operator has sent all of them', () => {
  const store = new ConfigStore({ logger: quiet, maxStalenessMs: 0 });
  store.restore({ epoch: 1, number: 1 }, [...BASIC_OBJECTS, signed('a', 'b')]);
  expect(secretsIn(store)).toBeUndefined();
  const commit = (number: number, snapshot: boolean, secrets: Readonly<Record<string, string | undefined>>) => {
    const revision = `1.${number}`;
    store.begin({ revision, snapshot });
    if (snapshot) store.put(signed('a', 'b'));
    for (const [id, value] of Object.entries(secrets))
      store.secret(id, value === undefined ? value : Buffer.from(value));
    store.commit(revision);
  };
  commit(2, true, { b: 'two' });
  expect(secretsIn(store)).toBeUndefined();
  commit(3, false, { a: 'one' });
  expect(secretsIn(store)).toEqual(['one', 'two']);
  commit(4, false, { a: undefined });
  expect(secretsIn(store)).toBeUndefined();
  commit(5, true, { a: 'one' });
  expect(secretsIn(store)).toBeUndefined();
  expect(store.objects().map(objectAsJson).join('\n')).not.toContain('two');
});

test.each<[string, readonly ConfigObject[], boolean]>([
  ['is not done by a new endpoint', [signed('a', 'b'), endpoint('/other')], false],
  ['is not done by another secret for an endpoint', [signed('a', 'b', 'c')], false],
  ['is done by the removal of a secret from an endpoint', [signed('b')], true],
  ['is done by the removal of the credential', [endpoint('/hook')], true],
  ['is done by another key', [account('own', 'another key')], true],
  [
    'is done by another key if another account takes the first',
    [account('own', 'another key'), account('new', KEY)],
    true,
  ],
  ['is done by two accounts that exchange their keys', [account('own', OTHER_KEY), account('other', KEY)], true],
  ['is not done by another account that takes the same key, too', [account('new', KEY)], false],
])('a revocation %s', (_name, changes, revokesKey) => {
  for (const snapshot of [true, false]) {
    const store = new ConfigStore({ logger: quiet, maxStalenessMs: 0 });
    const put = (number: number, isSnapshot: boolean, objects: readonly ConfigObject[]) => {
      const revision = `1.${number}`;
      store.begin({ revision, snapshot: isSnapshot });
      for (const object of objects) store.put(object);
      return store.commit(revision);
    };
    put(1, true, [...BASIC_OBJECTS, signed('a', 'b')]);
    const objects = snapshot ? [...BASIC_OBJECTS, signed('a', 'b'), ...changes] : changes;
    expect(put(2, snapshot, objects).revokesKey).toBe(revokesKey);
  }
});

test('a namespace with many rejected objects does not hide those of others', () => {
  const store = new ConfigStore({ logger: quiet, maxStalenessMs: 0 });
  const rejectedIn = (namespace: string, count: number): ConfigObject[] =>
    Array.from({ length: count }, (_, index) => {
      const name = `${namespace}-${index}`;
      return { ...project(name, 'not/a/segment'), uid: name, namespace };
    });
  const commit = (number: number, isSnapshot: boolean, objects: readonly ConfigObject[]): readonly string[] => {
    const revision = `1.${number}`;
    store.begin({ revision, snapshot: isSnapshot });
    for (const object of objects) store.put(object);
    return store.commit(revision).rejected.map(({ key }) => key);
  };
  const own = (keys: readonly string[]): readonly string[] => keys.filter((key) => key.startsWith('Project/b-'));
  const max = LIMITS.rejectedObjectsMax;
  const many = rejectedIn('a', 2 * max);
  expect(commit(1, true, many)).toHaveLength(max);
  const reported = commit(2, false, rejectedIn('b', 2));
  expect([reported.length, own(reported)]).toEqual([max, ['Project/b-0', 'Project/b-1']]);
  expect(own(commit(3, false, [{ ...project('b-0', 'b'.repeat(16)), uid: 'b-0', namespace: 'b' }]))).toEqual([
    'Project/b-1',
  ]);
  expect([store.rejectedCount, commit(4, true, [])]).toEqual([2 * max + 1, []]);
});
