import { SourceError } from '@standin/contract';
import { beforeEach, expect, test } from 'vitest';
import { adoptIdentity, type Adopted } from './adopt-identity.ts';
import { signedEntry } from './resolve-identity.ts';
import { MemoryIdentities } from './memory-identities.testing.ts';

const OLD = { kind: 'Project', namespace: 'a', name: 'old' } as const;
const NEW = { kind: 'Project', namespace: 'a', name: 'new' } as const;

let store: MemoryIdentities;
const sign = (ref: typeof OLD | typeof NEW | { kind: 'Project'; namespace: string; name: string }, id: string) =>
  signedEntry(ref, { id, epoch: 0 }, store.installationKey);
const NOW = 5;
const moved = (ref: Parameters<typeof sign>[0], id: string, epoch = NOW) =>
  signedEntry(ref, { id, epoch }, store.installationKey);
const adopt = (to: Parameters<typeof sign>[0], adopted: Adopted, now = NOW) => adoptIdentity(store, to, adopted, now);
const storedEntries = (namespace: string) => Object.fromEntries(store.namespaces.get(namespace) ?? []);

beforeEach(() => {
  store = new MemoryIdentities();
  store.namespaces.set('a', new Map([['Project.old', sign(OLD, 'uid-1')]]));
});

test('an identity moves to another name', async () => {
  expect(await adopt(NEW, { from: OLD })).toEqual({ id: 'uid-1', replaced: undefined });
  expect(storedEntries('a')).toEqual({ 'Project.new': moved(NEW, 'uid-1') });
});

test.each([1, 2, 3])('a move whose step %i failed is completed by the next attempt', async (failing) => {
  const to = { ...OLD, namespace: 'b' };
  let steps = 0;
  store.disturb = (call) => {
    if ((call === 'write' || call === 'raiseEpoch') && ++steps === failing)
      throw new SourceError('Unavailable', 'no connection');
  };
  await expect(adopt(to, { from: OLD })).rejects.toThrow('no connection');
  expect(await adopt(to, { from: OLD }, NOW + 1)).toMatchObject({ id: 'uid-1' });
  expect([storedEntries('a'), storedEntries('b')]).toEqual([{}, { 'Project.old': moved(to, 'uid-1', NOW + 1) }]);
  expect([...store.epochs]).toEqual([['Project.uid-1', NOW + 1]]);
});

test('an entry that was restored after its identity was moved is not adopted from, but the id can be given', async () => {
  const restored = new Map(store.namespaces.get('a'));
  await adopt({ ...OLD, namespace: 'b' }, { from: OLD });
  store.namespaces.set('a', restored);
  await expect(adopt(NEW, { from: OLD })).rejects.toThrow('pass --id uid-1');
  // The clock may be slow.
  await adopt(NEW, { id: 'uid-1' }, NOW - 1);
  expect(storedEntries('a')).toMatchObject({ 'Project.new': moved(NEW, 'uid-1', NOW + 1) });
});

test('an identity is given by its id, and the earlier entry is returned', async () => {
  const adoption = await adopt(OLD, { id: 'uid-2' });
  expect(adoption).toEqual({ id: 'uid-2', replaced: sign(OLD, 'uid-1') });
  expect(storedEntries('a')).toEqual({ 'Project.old': moved(OLD, 'uid-2') });
});

test.each([
  ['missing', new Map<string, string>(), 'NotFound'],
  ['forged', new Map([['Project.old', 'uid-1 forged']]), 'Invalid'],
] as const)('a %s entry is not adopted', async (_what, entries, kind) => {
  store.namespaces.set('a', entries);
  await expect(adopt(NEW, { from: OLD })).rejects.toMatchObject({ kind });
  expect(storedEntries('a')).toEqual(Object.fromEntries(entries));
});

test("after a conflict, the write is retried on top of the other writer's change", async () => {
  let others = 1;
  store.disturb = async (call) => {
    if (call !== 'write' || others === 0) return;
    others = 0;
    const stored = await store.read('a');
    await store.write('a', stored, new Map([...stored.entries, ['Project.third', 'x']]));
  };
  await adopt(NEW, { from: OLD });
  expect(storedEntries('a')).toEqual({ 'Project.new': moved(NEW, 'uid-1'), 'Project.third': 'x' });
});

test('the entry of an object that was created under the old name in the meantime stays', async () => {
  let writes = 0;
  store.disturb = async (call) => {
    if (call !== 'write' || ++writes !== 2) return;
    const stored = await store.read('a');
    await store.write('a', stored, new Map([...stored.entries, ['Project.old', sign(OLD, 'uid-2')]]));
  };
  await adopt(NEW, { from: OLD });
  expect(storedEntries('a')).toEqual({ 'Project.new': moved(NEW, 'uid-1'), 'Project.old': sign(OLD, 'uid-2') });
});
