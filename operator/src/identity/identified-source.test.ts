import { LIMITS, SourceError, type ResourceObject } from '@standin/contract';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MemorySource, NO_CONFIG_MAPS } from '../memory-source.testing.ts';
import { make } from '../translate/translator.testing.ts';
import { identifiedSource } from './identified-source.ts';
import { signedEntry } from './resolve-identity.ts';
import { MemoryIdentities } from './memory-identities.testing.ts';

const POLL_MS = 20;
const SHOP = { kind: 'Project', namespace: 'default', name: 'shop' } as const;

let raw: MemorySource;
let store: MemoryIdentities;
/** The calls to the listener, for example `put shop uid-1`. */
let calls: string[];
let seen: Map<string, ResourceObject>;
let stopping: AbortController;

const WAIT_MS_MAX = 1_500;

const source = () =>
  identifiedSource({ source: raw, store, pollMs: POLL_MS, waitMsMax: WAIT_MS_MAX, logger: pino({ level: 'silent' }) });
const start = async () => {
  const started = source();
  await started.objects.start(
    {
      put: (object) => {
        calls.push(`put ${object.metadata.name} ${object.metadata.uid}`);
        seen.set(`${object.kind} ${object.metadata.name}`, object);
      },
      remove: (object) => {
        calls.push(`remove ${object.metadata.name} ${object.metadata.uid}`);
        seen.delete(`${object.kind} ${object.metadata.name}`);
      },
      problems: () => undefined,
      configMaps: NO_CONFIG_MAPS,
    },
    stopping.signal,
  );
  return started;
};
const seenUid = (kind: string, name: string): string | undefined => seen.get(`${kind} ${name}`)?.metadata.uid;
const storedEntries = (namespace = 'default'): Record<string, string> =>
  Object.fromEntries(store.namespaces.get(namespace) ?? []);
const sign = (ref: { kind: 'Account' | 'Project'; namespace: string; name: string }, id: string): string =>
  signedEntry(ref, { id, epoch: 0 }, store.installationKey);
const recreate = (name: string): void => {
  raw.remove('Project', name);
  raw.put('Project', name, {});
};

beforeEach(() => {
  raw = new MemorySource();
  store = new MemoryIdentities();
  store.objects = () => raw.all();
  calls = [];
  seen = new Map();
  stopping = new AbortController();
});
afterEach(() => stopping.abort());

describe('an object without an entry', () => {
  test('is recorded with its uid before it is reported', async () => {
    raw.put('Account', 'team', {});
    raw.put('Project', 'shop', {});
    store.disturb = (call) => {
      if (call === 'write') expect(calls).toEqual([]);
    };
    await start();
    expect(calls).toEqual(['put team uid-1', 'put shop uid-2']);
    expect(storedEntries()).toEqual({
      'Account.team': sign({ ...SHOP, kind: 'Account', name: 'team' }, 'uid-1'),
      'Project.shop': sign(SHOP, 'uid-2'),
    });
    expect(store.writes).toBe(1);
  });

  test('is looked up together with all others of its kind', async () => {
    raw.put('Account', 'team', {});
    raw.put('Project', 'shop', {});
    raw.put('Project', 'store', {});
    await start();
    expect(store.lists).toEqual([
      ['Account', 'default', ['team']],
      ['Project', 'default', ['shop', 'store']],
    ]);
  });

  test('of another kind is reported under its uid and not recorded', async () => {
    raw.put('Endpoint', 'orders', {});
    raw.put('Share', 'a', {});
    await start();
    expect(calls).toEqual(['put orders uid-1', 'put a uid-2']);
    expect(store.reads).toBe(0);
  });

  test('is recorded once by two replicas at the same time', async () => {
    raw.put('Project', 'shop', {});
    let others = 1;
    store.disturb = async (call) => {
      if (call === 'write' && others-- > 0)
        await store.write('default', await store.read('default'), new Map([['Project.shop', sign(SHOP, 'uid-0')]]));
    };
    await start();
    expect(calls).toEqual(['put shop uid-0']);
  });
});

describe('the start', () => {
  test('does not wait for objects that are created in the meantime', async () => {
    raw.put('Project', 'shop', {});
    let created = 0;
    store.disturb = (call) => {
      // At each write, an object exists that the write does not contain.
      if (call === 'write') raw.put('Project', `later-${(created += 1)}`, {});
    };
    await start();
    expect(calls[0]).toBe('put shop uid-1');
  });

  test('does not wait for long for a Secret whose writes are always in conflict', async () => {
    raw.put('Project', 'shop', {});
    store.disturb = (call) => {
      if (call === 'write') throw new SourceError('Conflict', 'the Secret changed');
    };
    const startedAt = performance.now();
    await start();
    expect(performance.now() - startedAt).toBeLessThan(2 * WAIT_MS_MAX);
  });
});

test('an object that is created again keeps its identity and its later changes', async () => {
  raw.put('Project', 'shop', {});
  await start();
  recreate('shop');
  await vi.waitFor(() => expect(seenUid('Project', 'shop')).toBe('uid-1'));
  raw.put('Project', 'shop', { changed: true });
  expect(seen.get('Project shop')).toMatchObject({ spec: { changed: true }, metadata: { uid: 'uid-1' } });
  expect(calls).toEqual(['put shop uid-1', 'remove shop uid-1', 'put shop uid-1', 'put shop uid-1']);
});

test("an object that is created again gets a new identity if its namespace's Secret was lost", async () => {
  raw.put('Project', 'shop', {});
  await start();
  store.namespaces.clear();
  recreate('shop');
  await vi.waitFor(() => expect(seenUid('Project', 'shop')).toBe('uid-2'));
});

test('an entry that is removed while its object exists is written again with the same identity', async () => {
  store.namespaces.set('default', new Map([['Project.shop', sign(SHOP, 'first')]]));
  raw.put('Project', 'shop', {});
  await start();
  store.namespaces.delete('default');
  await vi.waitFor(() => expect(storedEntries()).toEqual({ 'Project.shop': sign(SHOP, 'first') }));
  expect(calls).toEqual(['put shop first']);
});

test('entries are signed again with a replaced key while their objects stay in use', async () => {
  store.namespaces.set('default', new Map([['Project.shop', sign(SHOP, 'first')]]));
  raw.put('Project', 'shop', {});
  await start();
  store.installationKey = Buffer.alloc(32, 2);
  await vi.waitFor(() => expect(storedEntries()).toEqual({ 'Project.shop': sign(SHOP, 'first') }));
  expect(calls).toEqual(['put shop first']);
});

test('an object is accepted as soon as the key that signed its entry is restored', async () => {
  store.namespaces.set('default', new Map([['Project.shop', sign(SHOP, 'first')]]));
  const key = store.installationKey;
  store.installationKey = Buffer.alloc(32, 2);
  raw.put('Project', 'shop', {});
  await start();
  expect(seen.get('Project shop')?.identityFault?.reason).toBe('IdentityInvalid');
  store.installationKey = key;
  await vi.waitFor(() => expect(seenUid('Project', 'shop')).toBe('first'));
});

test('an object that no longer exists is neither recorded nor reported', async () => {
  raw.put('Project', 'shop', {});
  raw.isQuick = false;
  raw.remove('Project', 'shop');
  raw.objects.start = (listener) => {
    listener.put(make('Project', 'shop', {}));
    return Promise.resolve();
  };
  void start().catch(() => undefined);
  await vi.waitFor(() => expect(store.reads).toBeGreaterThan(1));
  expect([calls, storedEntries()]).toEqual([[], {}]);
});

test('an object that was created again after its report is neither recorded nor reported under its earlier uid', async () => {
  raw.put('Account', 'team', {});
  raw.put('Project', 'shop', {});
  const before = raw.all();
  recreate('shop');
  // The source lags behind: it reports the earlier object first.
  raw.objects.start = (listener) => {
    for (const object of before) listener.put(object);
    return Promise.resolve();
  };
  void start().catch(() => undefined);
  await vi.waitFor(() => expect(storedEntries()).toHaveProperty(['Account.team']));
  expect(storedEntries()).not.toHaveProperty(['Project.shop']);
  expect(calls.filter((call) => call.includes('shop'))).toEqual([]);
});

test('a changed entry moves the object to the other identity', async () => {
  raw.put('Project', 'shop', {});
  await start();
  store.namespaces.set('default', new Map([['Project.shop', sign(SHOP, 'adopted')]]));
  await vi.waitFor(() => expect(calls).toEqual(['put shop uid-1', 'remove shop uid-1', 'put shop adopted']));
});

describe('a fault', () => {
  test.each([
    ['a copied entry', () => sign({ ...SHOP, namespace: 'other' }, 'uid-9'), 'IdentityInvalid'],
    ['a forged entry', () => 'uid-9 forged', 'IdentityInvalid'],
  ])('of %s is reported and the entry stays', async (_what, entry, reason) => {
    store.namespaces.set('default', new Map([['Project.shop', entry()]]));
    raw.put('Project', 'shop', {});
    await start();
    expect(seen.get('Project shop')).toMatchObject({ identityFault: { reason } });
    expect(seenUid('Project', 'shop')).not.toBe('uid-9');
    expect(storedEntries()).toEqual({ 'Project.shop': entry() });
    store.namespaces.set('default', new Map([['Project.shop', sign(SHOP, 'first')]]));
    await vi.waitFor(() => expect(seenUid('Project', 'shop')).toBe('first'));
    expect(seen.get('Project shop')?.identityFault).toBeUndefined();
  });

  test('of two objects with one identity affects the second, until the first is deleted', async () => {
    const copy = { ...SHOP, name: 'copy' };
    store.namespaces.set(
      'default',
      new Map([
        ['Project.shop', sign(SHOP, 'one')],
        ['Project.copy', sign(copy, 'one')],
      ]),
    );
    raw.put('Project', 'shop', {});
    raw.put('Project', 'copy', {});
    await start();
    expect(seenUid('Project', 'shop')).toBe('one');
    expect(seen.get('Project copy')).toMatchObject({ identityFault: { reason: 'IdentityInvalid' } });
    raw.remove('Project', 'shop');
    await vi.waitFor(() => expect(seenUid('Project', 'copy')).toBe('one'));
  });

  test.each([
    ['a refused read', new SourceError('Forbidden', 'no permission')],
    ['a Secret that stays unreadable', new SourceError('Unavailable', 'cannot decrypt')],
  ])('of %s is reported for a new object, and ends with it', async (_what, error) => {
    raw.put('Project', 'shop', {});
    store.disturb = (call) => {
      if (call === 'read') throw error;
    };
    await start();
    const { identityFault } = seen.get('Project shop') ?? {};
    expect(identityFault?.reason).toBe('IdentityNotRecorded');
    expect(identityFault?.message).toContain(error.message);
    store.disturb = () => undefined;
    await vi.waitFor(() => expect(seenUid('Project', 'shop')).toBe('uid-1'));
  });

  test.each([
    ['its own uid as id', { id: 'uid-1' }],
    ['no id', { observedGeneration: 1 }],
  ])('of a refused read does not affect an object whose status has %s', async (_what, status) => {
    raw.put('Project', 'shop', {});
    await raw.objects.writeStatus(SHOP, status);
    store.disturb = () => {
      throw new SourceError('Forbidden', 'no permission');
    };
    await start();
    expect(calls).toEqual(['put shop uid-1']);
    expect(seen.get('Project shop')?.identityFault).toBeUndefined();
  });

  test('of a refused read concerns an object whose status has another id', async () => {
    raw.put('Project', 'shop', {});
    await raw.objects.writeStatus(SHOP, { id: 'uid-9', observedGeneration: 1 });
    store.disturb = () => {
      throw new SourceError('Forbidden', 'no permission');
    };
    await start();
    expect(seen.get('Project shop')).toMatchObject({ identityFault: { reason: 'IdentityNotRecorded' } });
  });

  test.each([
    ['write', new SourceError('Forbidden', 'the quota of Secrets is used up')],
    ['write', new SourceError('Unavailable', 'the webhook is down')],
    ['uids', new SourceError('Forbidden', 'no permission to list projects')],
  ] as const)('of a failed %s (%s) does not affect a new object, which is recorded later', async (failing, error) => {
    raw.put('Project', 'shop', {});
    store.disturb = (call) => {
      if (call === failing) throw error;
    };
    await start();
    expect(calls).toEqual(['put shop uid-1']);
    expect(storedEntries()).toEqual({});
    store.disturb = () => undefined;
    await vi.waitFor(() => expect(storedEntries()).toEqual({ 'Project.shop': sign(SHOP, 'uid-1') }));
    expect(calls).toEqual(['put shop uid-1']);
  });

  test('of a refused read does not affect objects in use', async () => {
    raw.put('Project', 'shop', {});
    await start();
    const before = store.reads;
    store.disturb = () => {
      throw new SourceError('Forbidden', 'no right');
    };
    await vi.waitFor(() => expect(store.reads).toBeGreaterThan(before + 1));
    expect(calls).toEqual(['put shop uid-1']);
  });

  test('of a full Secret affects no object', async () => {
    const others = Array.from(
      { length: LIMITS.identitiesPerNamespaceMax - 1 },
      (_, n) => [`Project.p${n}`, 'x'] as const,
    );
    store.namespaces.set('default', new Map(others));
    raw.put('Project', 'last', {});
    raw.put('Project', 'shop', {});
    await start();
    expect(calls).toEqual(['put last uid-1', 'put shop uid-2']);
    expect(Object.keys(storedEntries())).toHaveLength(LIMITS.identitiesPerNamespaceMax);
    expect(storedEntries()).toHaveProperty(['Project.last']);
  });
});

test('start waits until the Secrets can be read', async () => {
  raw.put('Project', 'shop', {});
  let failures = 3;
  store.disturb = () => {
    if (failures-- > 0) throw new SourceError('Unavailable', 'no connection');
  };
  await start();
  expect(failures).toBeLessThan(0);
  expect(calls).toEqual(['put shop uid-1']);
});

test('start rejects when its signal aborts while it waits', async () => {
  raw.put('Project', 'shop', {});
  store.disturb = () => {
    stopping.abort(new Error('stopped'));
    throw new SourceError('Unavailable', 'no connection');
  };
  await expect(start()).rejects.toThrow('stopped');
});

describe('calls', () => {
  test('return objects under their identities, known or not', async () => {
    store.namespaces.set('default', new Map([['Project.shop', sign(SHOP, 'first')]]));
    raw.put('Project', 'shop', {});
    expect((await source().objects.get(SHOP))?.metadata.uid).toBe('first');
    const started = await start();
    expect((await started.objects.get(SHOP))?.metadata.uid).toBe('first');
    expect((await started.objects.writeStatus(SHOP, { uri: 'a' })).metadata.uid).toBe('first');
    expect(await started.objects.get({ ...SHOP, name: 'none' })).toBeUndefined();
  });

  test('record Events under the uid of the API server', async () => {
    store.namespaces.set('default', new Map([['Project.shop', sign(SHOP, 'first')]]));
    raw.put('Project', 'shop', {});
    const uids: string[] = [];
    raw.events.record = ({ metadata }) => {
      uids.push(metadata.uid);
      return Promise.resolve();
    };
    const started = await start();
    const shop = seen.get('Project shop');
    if (shop !== undefined) await started.events.record(shop, { type: 'Warning', reason: 'Invalid', message: 'a' });
    expect(uids).toEqual(['uid-1']);
  });
});
