import { describe, expect, it } from 'vitest';
import { make } from '../translate/translator.testing.ts';
import {
  checkEntry,
  entryName,
  resolveIdentity,
  signedEntry,
  verifiedEntry,
  type Assertion,
} from './resolve-identity.ts';

const KEY = Buffer.alloc(32, 1);
const SHOP = { kind: 'Project', namespace: 'default', name: 'shop' } as const;
const shop = make('Project', 'shop', {}, { uid: 'uid-2' });
const first = (id: string): Assertion => ({ id, epoch: 0 });
const ENTRY = signedEntry(SHOP, first('uid-1'), KEY);

const resolve = (entry: string | undefined, inUse?: string, epochs: Readonly<Record<string, number>> = {}) =>
  resolveIdentity(
    shop,
    {
      checked: entry === undefined ? undefined : checkEntry(SHOP, entry, KEY, undefined),
      inUse: inUse === undefined ? undefined : first(inUse),
    },
    { key: KEY, epochs: new Map(Object.entries(epochs)) },
  );

describe('the identity of an object', () => {
  it('is its own uid if it has no entry', () => {
    expect(resolve(undefined)).toEqual({ kind: 'unrecorded', id: 'uid-2', epoch: 0 });
  });

  it('is the id of its entry', () => {
    expect(resolve(ENTRY)).toEqual({ kind: 'recorded', id: 'uid-1', epoch: 0 });
  });

  it.each([
    ['another kind', signedEntry({ ...SHOP, kind: 'Account' }, first('uid-1'), KEY)],
    ['another namespace', signedEntry({ ...SHOP, namespace: 'other' }, first('uid-1'), KEY)],
    ['another name', signedEntry({ ...SHOP, name: 'shop-2' }, first('uid-1'), KEY)],
    ['another key', signedEntry(SHOP, first('uid-1'), Buffer.alloc(32, 2))],
    ['another id', ENTRY.replace('uid-1', 'uid-3')],
    ['another epoch', ENTRY.replace(' 0 ', ' 1 ')],
    ['no signature', 'uid-1'],
    ['a part of a signature', ENTRY.slice(0, -1)],
    ['nothing', ''],
  ])('is faulty if its entry has %s', (_what, entry) => {
    expect(resolve(entry)).toMatchObject({ kind: 'fault', reason: 'IdentityInvalid' });
  });

  it('is signed again if the key was lost and the entry has the uid of the object', () => {
    const entry = signedEntry(SHOP, first('uid-2'), Buffer.alloc(32, 2));
    expect(resolve(entry)).toEqual({ kind: 'unrecorded', id: 'uid-2', epoch: 0 });
  });

  it('is signed again if the key was replaced and the entry has the identity that is in use', () => {
    const entry = signedEntry(SHOP, first('uid-1'), Buffer.alloc(32, 2));
    expect(resolve(entry, 'uid-1')).toEqual({ kind: 'unrecorded', id: 'uid-1', epoch: 0 });
    expect(resolve(entry, 'uid-3')).toMatchObject({ kind: 'fault', reason: 'IdentityInvalid' });
  });

  it('is the one that is in use if its entry was removed', () => {
    expect(resolve(undefined, 'uid-1')).toEqual({ kind: 'unrecorded', id: 'uid-1', epoch: 0 });
  });

  it('is the id of its entry even if another one is in use', () => {
    expect(resolve(ENTRY, 'uid-3')).toEqual({ kind: 'recorded', id: 'uid-1', epoch: 0 });
  });
});

describe('an identity that was moved to another object', () => {
  const MOVED = { 'Project.uid-1': 5, 'Project.uid-2': 5 };
  const invalid = { kind: 'fault', reason: 'IdentityInvalid' };

  it.each([
    ['with an earlier entry', ENTRY, undefined],
    ['with an earlier entry, while the object is served', ENTRY, 'uid-1'],
    ['without an entry, while the object is served', undefined, 'uid-1'],
    ['whose uid is the identity, without an entry', undefined, undefined],
    ['whose uid is the identity, with an unsigned entry', 'uid-2 9 forged', undefined],
  ])('is refused to an object %s', (_what, entry, inUse) => {
    expect(resolve(entry, inUse, MOVED)).toMatchObject(invalid);
  });

  it('is accepted with the entry of the last move, also if a backup of the epochs is older', () => {
    const entry = signedEntry(SHOP, { id: 'uid-1', epoch: 5 }, KEY);
    expect(resolve(entry, undefined, MOVED)).toEqual({ kind: 'recorded', id: 'uid-1', epoch: 5 });
    expect(resolve(entry)).toEqual({ kind: 'recorded', id: 'uid-1', epoch: 5 });
  });

  it('does not affect the same id of another kind', () => {
    expect(resolve(ENTRY, undefined, { 'Account.uid-1': 5 })).toMatchObject({ kind: 'recorded' });
  });
});

it('an entry verifies only for its object', () => {
  expect(verifiedEntry(SHOP, ENTRY, KEY)).toEqual(first('uid-1'));
  expect(verifiedEntry({ ...SHOP, name: 'shop-2' }, ENTRY, KEY)).toBeUndefined();
});

it('an entry is verified again only if it or the key has changed', () => {
  const checked = checkEntry(SHOP, ENTRY, KEY, undefined);
  expect(checkEntry(SHOP, ENTRY, Buffer.from(KEY), checked)).toBe(checked);
  const changed = [checkEntry(SHOP, `${ENTRY}x`, KEY, checked), checkEntry(SHOP, ENTRY, Buffer.alloc(32, 2), checked)];
  expect(changed.map(({ assertion }) => assertion)).toEqual([undefined, undefined]);
});

it('names of entries are valid data keys and differ by kind and name', () => {
  const names = ['a', 'a.b', 'x'.repeat(253), 'y'.repeat(253)].flatMap((name) => [
    entryName({ kind: 'Account', name }),
    entryName({ kind: 'Project', name }),
  ]);
  expect(new Set(names).size).toBe(8);
  for (const name of names) expect(name).toMatch(/^[-._a-zA-Z0-9]{1,253}$/);
});
