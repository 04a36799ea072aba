import { describe, expect, it } from 'vitest';
import { make } from '../translate/translator.testing.ts';
import { entryName, resolveIdentity, signedEntry, verifiedId } from './resolve-identity.ts';

const KEY = Buffer.alloc(32, 1);
const SHOP = { kind: 'Project', namespace: 'default', name: 'shop' } as const;
const shop = make('Project', 'shop', {}, { uid: 'uid-2' });
const ENTRY = signedEntry(SHOP, 'uid-1', KEY);

const resolve = (entry: string | undefined, inUse?: string) => resolveIdentity(shop, { entry, inUse }, KEY);

describe('the identity of an object', () => {
  it('is its own uid if it has no entry', () => {
    expect(resolve(undefined)).toEqual({ kind: 'unrecorded', id: 'uid-2' });
  });

  it('is the id of its entry', () => {
    expect(resolve(ENTRY)).toEqual({ kind: 'recorded', id: 'uid-1' });
  });

  it.each([
    ['another kind', signedEntry({ ...SHOP, kind: 'Account' }, 'uid-1', KEY)],
    ['another namespace', signedEntry({ ...SHOP, namespace: 'other' }, 'uid-1', KEY)],
    ['another name', signedEntry({ ...SHOP, name: 'shop-2' }, 'uid-1', KEY)],
    ['another key', signedEntry(SHOP, 'uid-1', Buffer.alloc(32, 2))],
    ['another id', ENTRY.replace('uid-1', 'uid-3')],
    ['no signature', 'uid-1'],
    ['a part of a signature', ENTRY.slice(0, -1)],
    ['nothing', ''],
  ])('is faulty if its entry has %s', (_what, entry) => {
    expect(resolve(entry)).toMatchObject({ kind: 'fault', reason: 'IdentityInvalid' });
  });

  it('is signed again if the key was lost and the entry has the uid of the object', () => {
    const entry = signedEntry(SHOP, 'uid-2', Buffer.alloc(32, 2));
    expect(resolve(entry)).toEqual({ kind: 'unrecorded', id: 'uid-2' });
  });

  it('is signed again if the key was replaced and the entry has the identity that is in use', () => {
    const entry = signedEntry(SHOP, 'uid-1', Buffer.alloc(32, 2));
    expect(resolve(entry, 'uid-1')).toEqual({ kind: 'unrecorded', id: 'uid-1' });
    expect(resolve(entry, 'uid-3')).toMatchObject({ kind: 'fault', reason: 'IdentityInvalid' });
  });

  it('is the one that is in use if its entry was removed', () => {
    expect(resolve(undefined, 'uid-1')).toEqual({ kind: 'unrecorded', id: 'uid-1' });
  });

  it('is the id of its entry even if another one is in use', () => {
    expect(resolve(ENTRY, 'uid-3')).toEqual({ kind: 'recorded', id: 'uid-1' });
  });
});

it('an entry verifies only for its object', () => {
  expect(verifiedId(SHOP, ENTRY, KEY)).toBe('uid-1');
  expect(verifiedId({ ...SHOP, name: 'shop-2' }, ENTRY, KEY)).toBeUndefined();
});

it('names of entries are valid data keys and differ by kind and name', () => {
  const names = ['a', 'a.b', 'x'.repeat(253), 'y'.repeat(253)].flatMap((name) => [
    entryName({ kind: 'Account', name }),
    entryName({ kind: 'Project', name }),
  ]);
  expect(new Set(names).size).toBe(8);
  for (const name of names) expect(name).toMatch(/^[-._a-zA-Z0-9]{1,253}$/);
});
