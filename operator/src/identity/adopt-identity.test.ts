import { SourceError } from '@standin/contract';
import { beforeEach, expect, test } from 'vitest';
import { adoptIdentity } from './adopt-identity.ts';
import { signedEntry } from './resolve-identity.ts';
import { MemoryIdentities } from './memory-identities.testing.ts';

const OLD = { kind: 'Project', namespace: 'a', name: 'old' } as const;
const NEW = { kind: 'Project', namespace: 'a', name: 'new' } as const;

let store: MemoryIdentities;
const sign = (ref: typeof OLD | typeof NEW | { kind: 'Project'; namespace: string; name: string }, id: string) =>
  signedEntry(ref, id, store.installationKey);
const entriesOf = (namespace: string) => Object.fromEntries(store.namespaces.get(namespace) ?? []);

beforeEach(() => {
  store = new MemoryIdentities();
  store.namespaces.set('a', new Map([['Project.old', sign(OLD, 'uid-1')]]));
});

test('an identity moves to another name', async () => {
  expect(await adoptIdentity(store, NEW, { from: OLD })).toEqual({ id: 'uid-1', replaced: undefined });
  expect(entriesOf('a')).toEqual({ 'Project.new': sign(NEW, 'uid-1') });
});

test('an identity moves to another namespace, even if the first attempt was interrupted', async () => {
  const to = { ...OLD, namespace: 'b' };
  let writes = 0;
  store.disturb = (call) => {
    if (call === 'write' && ++writes === 2) throw new SourceError('Unavailable', 'no connection');
  };
  await expect(adoptIdentity(store, to, { from: OLD })).rejects.toThrow('no connection');
  expect(await adoptIdentity(store, to, { from: OLD })).toMatchObject({ id: 'uid-1' });
  expect([entriesOf('a'), entriesOf('b')]).toEqual([{}, { 'Project.old': sign(to, 'uid-1') }]);
});

test('an identity is given by its id, and the earlier entry is returned', async () => {
  const adoption = await adoptIdentity(store, OLD, { id: 'uid-2' });
  expect(adoption).toEqual({ id: 'uid-2', replaced: sign(OLD, 'uid-1') });
  expect(entriesOf('a')).toEqual({ 'Project.old': sign(OLD, 'uid-2') });
});

test.each([
  ['missing', new Map<string, string>(), 'NotFound'],
  ['forged', new Map([['Project.old', 'uid-1 forged']]), 'Invalid'],
] as const)('a %s entry is not adopted', async (_what, entries, kind) => {
  store.namespaces.set('a', entries);
  await expect(adoptIdentity(store, NEW, { from: OLD })).rejects.toMatchObject({ kind });
  expect(entriesOf('a')).toEqual(Object.fromEntries(entries));
});

test("after a conflict, the write is retried on top of the other writer's change", async () => {
  let others = 1;
  store.disturb = async (call) => {
    if (call !== 'write' || others === 0) return;
    others = 0;
    const stored = await store.read('a');
    await store.write('a', stored, new Map([...stored.entries, ['Project.third', 'x']]));
  };
  await adoptIdentity(store, NEW, { from: OLD });
  expect(entriesOf('a')).toEqual({ 'Project.new': sign(NEW, 'uid-1'), 'Project.third': 'x' });
});

test('the entry of an object that was created under the old name in the meantime stays', async () => {
  let writes = 0;
  store.disturb = async (call) => {
    if (call !== 'write' || ++writes !== 2) return;
    const stored = await store.read('a');
    await store.write('a', stored, new Map([...stored.entries, ['Project.old', sign(OLD, 'uid-2')]]));
  };
  await adoptIdentity(store, NEW, { from: OLD });
  expect(entriesOf('a')).toEqual({ 'Project.new': sign(NEW, 'uid-1'), 'Project.old': sign(OLD, 'uid-2') });
});
