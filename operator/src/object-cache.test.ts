import { GROUP_VERSION, type Kind } from '@standin/contract';
import { expect, test } from 'vitest';
import { ObjectCache } from './object-cache.ts';

const object = (kind: Kind, namespace: string, name: string, uid = `${kind}/${namespace}/${name}`) => ({
  apiVersion: GROUP_VERSION,
  kind,
  metadata: { name, namespace, uid, generation: 1, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {} as unknown,
});
const [SHOP, STORE, OTHER] = [
  object('Project', 'a', 'shop'),
  object('Project', 'a', 'store'),
  object('Project', 'b', 'shop'),
] as const;
const TEAM = object('Account', 'a', 'shop');

const filled = (): ObjectCache => {
  const cache = new ObjectCache();
  for (const each of [SHOP, STORE, OTHER, TEAM]) cache.put(each);
  return cache;
};

test('an object is found by its uid, by its reference, by its kind and by its namespace', () => {
  const cache = filled();
  expect([cache.size, cache.get(SHOP.metadata.uid), cache.has('none')]).toEqual([4, SHOP, false]);
  expect(cache.find({ kind: 'Project', namespace: 'b', name: 'shop' })).toBe(OTHER);
  expect(cache.find({ kind: 'Share', namespace: 'b', name: 'shop' })).toBeUndefined();
  expect([...cache.ofKind('Project')]).toEqual([SHOP, STORE, OTHER]);
  expect([...cache.inNamespace('Project', 'a')]).toEqual([SHOP, STORE]);
  expect([...cache.values()]).toEqual([SHOP, STORE, OTHER, TEAM]);
});

test('a new version replaces the earlier one, which is returned', () => {
  const cache = filled();
  const changed = { ...SHOP, spec: { changed: true } };
  expect(cache.put(changed)).toBe(SHOP);
  expect([cache.size, [...cache.inNamespace('Project', 'a')]]).toEqual([4, [changed, STORE]]);
});

test('a removed object is found nowhere', () => {
  const cache = filled();
  for (const each of [SHOP, OTHER]) cache.remove(each);
  expect([cache.get(SHOP.metadata.uid), [...cache.ofKind('Project')]]).toEqual([undefined, [STORE]]);
  expect([...cache.inNamespace('Project', 'b')]).toEqual([]);
});

test('operations are found by the Project or Account that they are for', () => {
  const cache = filled();
  const [first, second, other] = ['first', 'second', 'other'].map((name) => ({
    ...object('Purge', 'a', name),
    spec: { projectRef: { name: name === 'other' ? 'store' : 'shop' } },
  }));
  const regeneration = { ...object('KeyRegeneration', 'a', 'r'), spec: { accountRef: { name: 'shop' } } };
  const invalid = { ...object('Purge', 'a', 'invalid'), spec: 'none' };
  if (first === undefined || second === undefined || other === undefined) throw new Error('no Purges');
  for (const each of [first, second, other, regeneration, invalid]) cache.put(each);
  expect([...cache.operationsFor(SHOP, 'Purge')]).toEqual([first, second]);
  expect([...cache.operationsFor(TEAM, 'KeyRegeneration')]).toEqual([regeneration]);
  expect([...cache.operationsFor(OTHER, 'Purge')]).toEqual([]);
  const moved = { ...second, spec: other.spec };
  cache.put(moved);
  expect([...cache.operationsBeside(other)]).toEqual([other, moved]);
  cache.remove(first);
  expect([...cache.operationsFor(SHOP, 'Purge')]).toEqual([]);
});

test('a subscriber receives every change until it unsubscribes', () => {
  const cache = filled();
  const seen: (string | undefined)[] = [];
  const unsubscribe = cache.subscribe((ref) => seen.push(ref && `${ref.name} ${cache.find(ref) === undefined}`));
  cache.put(SHOP);
  cache.remove(SHOP);
  cache.setProblems([{ where: 'a.yaml:1', message: 'is not YAML' }]);
  unsubscribe();
  cache.put(SHOP);
  expect(seen).toEqual(['shop false', 'shop true', undefined]);
  expect(cache.problems).toHaveLength(1);
});

test('the late removal of an earlier object with the same name does not affect its successor', () => {
  const cache = filled();
  const successor = object('Project', 'a', 'shop', 'successor');
  expect(cache.put(successor)).toBeUndefined();
  cache.remove(SHOP);
  expect(cache.find({ kind: 'Project', namespace: 'a', name: 'shop' })).toBe(successor);
  expect([...cache.inNamespace('Project', 'a')]).toEqual([successor, STORE]);
});
