import { LIMITS, SourceError, type ResourceObject } from '@standin/contract';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DesiredState } from '../desired-state.ts';
import { Translator } from '../translate/index.ts';
import { make, SETTINGS } from '../translate/translator.testing.ts';
import { ClaimController } from './claim-controller.ts';
import { recordName, shardName } from './claim-records.ts';
import { MemoryClaims } from './memory-claims.testing.ts';

const URI = 'shop-0123456789abcdef';
const DAY_MS = 86_400_000;

const account = (namespace: string): ResourceObject =>
  make('Account', 'team', {}, { namespace, uid: `account-${namespace}` });
const project = (namespace: string, day: number, more: object = {}): ResourceObject =>
  make(
    'Project',
    'shop',
    { accountRef: { name: 'team' }, uri: URI, ...more },
    { namespace, uid: `project-${namespace}`, creationTimestamp: `2026-01-0${day}T00:00:00Z` },
  );

const INSTALLATION_KEY = Buffer.alloc(32, 1);

let store: MemoryClaims;
let now: number;
const stops: (() => Promise<void>)[] = [];

/** A leader with its own view of the objects. */
const lead = async (...objects: readonly ResourceObject[]) => {
  let read = 0;
  const counting = new Proxy(SETTINGS, { get: (target, name) => (read++, Reflect.get(target, name) as unknown) });
  const translator = new Translator(counting);
  const verdicts: string[] = [];
  let isStarted = false;
  const logger = pino({ level: 'silent' });
  const desired: DesiredState = new DesiredState({
    translator,
    logger,
    holdOffMs: 5,
    onSeen: (object) => {
      if (isStarted) controller.changed(object);
    },
    onChanges: (changes) => {
      verdicts.push(...changes.verdicts.map(({ uid, accepted }) => `${uid} ${accepted.reason}`));
      if (isStarted) controller.translated();
    },
    onRemoved: () => undefined,
    onProblems: () => undefined,
  });
  const controller: ClaimController = new ClaimController({
    desired,
    translator,
    logger,
    registry: new Registry(),
    store,
    clock: () => now,
    installationKey: () => Promise.resolve(INSTALLATION_KEY),
  });
  const keyed = (object: ResourceObject, digit: string): void =>
    desired.setKey(object.metadata.uid, { kind: 'key', sha256: digit.repeat(64) });
  for (const object of objects) desired.put(object);
  for (const [index, object] of objects.filter(({ kind }) => kind === 'Account').entries())
    keyed(object, String(index));
  await controller.prepare(new AbortController().signal);
  controller.start();
  isStarted = true;
  verdicts.splice(0);
  stops.push(() => controller.stop());
  const acceptedReason = ({ metadata: { uid } }: ResourceObject): string | undefined =>
    translator.verdict(uid)?.accepted.reason;
  /** Returns how many settings evaluations have read since the last call. */
  const takeRead = (): number => {
    const taken = read;
    read = 0;
    return taken;
  };
  takeRead();
  return { translator, desired, controller, verdicts, acceptedReason, keyed, takeRead };
};

beforeEach(() => {
  store = new MemoryClaims();
  now = Date.UTC(2026, 0, 10);
});
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

const [a, b] = ['a', 'b'].map(account) as [ResourceObject, ResourceObject];

test('without records, the oldest prevails once, and an older one that comes later does not', async () => {
  const shop = project('b', 3);
  const former = await lead(a, b, shop, project('a', 4));
  expect([former.acceptedReason(shop), former.acceptedReason(project('a', 4))]).toEqual(['Accepted', 'Conflicted']);
  // Two keys, and the URI.
  expect(store.texts()).toHaveLength(3);
  await former.controller.stop();
  const old = project('a', 1);
  const next = await lead(a, b, shop, old);
  expect([next.acceptedReason(shop), next.acceptedReason(old)]).toEqual(['Accepted', 'Conflicted']);
});

test('the claims of a new installation need one write for each shard, and the next leader writes nothing', async () => {
  const accounts = Array.from({ length: 500 }, (_, n) => account(`ns-${n}`));
  const { controller, desired } = await lead();
  await controller.stop();
  for (const [index, object] of accounts.entries()) {
    desired.put(object);
    desired.setKey(object.metadata.uid, { kind: 'key', sha256: String(index).padStart(64, '0') });
  }
  await controller.prepare(new AbortController().signal);
  expect([store.texts().length, store.writes]).toEqual([accounts.length, LIMITS.claimShards]);
  await controller.prepare(new AbortController().signal);
  expect(store.writes).toBe(LIMITS.claimShards);
});

test('a leader does not wait for a tenant who creates Projects all the time', async () => {
  const CREATED_MAX = 100;
  const { controller, desired } = await lead();
  await controller.stop();
  let created = 0;
  const create = (): void => {
    created += 1;
    desired.put(make('Project', `p-${created}`, { accountRef: { name: 'team' } }, { uid: `uid-${created}` }));
  };
  store.disturb = (when) => {
    if (when === 'after' && created < CREATED_MAX) create();
  };
  create();
  await controller.prepare(new AbortController().signal);
  expect(created).toBeLessThan(CREATED_MAX);
});

test('the claim of a new Project is recorded within the hold-off, so that its first verdict is final', async () => {
  const { desired, verdicts } = await lead(a);
  desired.put(project('a', 1));
  await vi.waitFor(() => expect(verdicts).toEqual(['project-a Accepted']));
});

test('a Project that waits does not get the URI while the holder is deleted and applied again', async () => {
  const shop = project('b', 1);
  const newer = project('a', 2);
  const { desired, acceptedReason } = await lead(a, b, shop, newer);
  desired.remove(shop);
  desired.flush();
  expect(acceptedReason(newer)).toBe('Conflicted');
  desired.put(project('b', 5));
  desired.flush();
  expect([acceptedReason(shop), acceptedReason(newer)]).toEqual(['Accepted', 'Conflicted']);
});

test('another Project of the same namespace takes over a URI whose holder is gone', async () => {
  const shop = project('b', 1);
  const { desired, acceptedReason } = await lead(a, b, shop);
  const renamed = make('Project', 'store', { accountRef: { name: 'team' }, uri: URI }, { namespace: 'b' });
  desired.put(renamed);
  desired.flush();
  expect(acceptedReason(renamed)).toBe('Conflicted');
  desired.remove(shop);
  await vi.waitFor(() => expect(acceptedReason(renamed)).toBe('Accepted'));
});

test('an identity that was moved to another namespace keeps its URI, and the former namespace loses it', async () => {
  const shop = project('b', 1);
  const { desired, acceptedReason } = await lead(a, b, shop);
  const moved = project('a', 5);
  const adopted = { ...moved, metadata: { ...moved.metadata, uid: shop.metadata.uid } };
  desired.remove(shop);
  desired.put(adopted);
  await vi.waitFor(() => expect(store.texts()).toContain('project-b a'));
  expect(acceptedReason(adopted)).toBe('Accepted');
  desired.remove(adopted);
  const again = make('Project', 'again', { accountRef: { name: 'team' }, uri: URI }, { namespace: 'b' });
  desired.put(again);
  desired.flush();
  expect(acceptedReason(again)).toBe('Conflicted');
});

describe('an identity that is moved to another namespace gets its claims from an object that took them over', () => {
  const moved = (object: ResourceObject, to: ResourceObject): ResourceObject => ({
    ...to,
    metadata: { ...to.metadata, uid: object.metadata.uid },
  });
  const waiting = make(
    'Project',
    'waiting',
    { accountRef: { name: 'team' }, uri: URI },
    { namespace: 'b', uid: 'waiting', creationTimestamp: '2025-01-01T00:00:00Z' },
  );

  test('if they are to a URI, also at the next leader', async () => {
    const shop = project('b', 1);
    const former = await lead(a, b, shop);
    former.desired.put(waiting);
    former.desired.remove(shop);
    await vi.waitFor(() => expect(former.acceptedReason(waiting)).toBe('Accepted'));
    await former.controller.stop();
    const adopted = moved(shop, project('a', 5));
    const next = await lead(a, b, waiting, adopted);
    expect([next.acceptedReason(adopted), next.acceptedReason(waiting)]).toEqual(['Accepted', 'Conflicted']);
    next.desired.remove(adopted);
    next.desired.flush();
    expect(next.acceptedReason(waiting)).toBe('Conflicted');
  });

  test('if they are to a URI and a third object took them over from the second one', async () => {
    const shop = project('b', 1);
    const third = { ...waiting, metadata: { ...waiting.metadata, name: 'third', uid: 'third' } };
    const { desired, acceptedReason } = await lead(a, b, shop);
    desired.put(waiting);
    desired.remove(shop);
    await vi.waitFor(() => expect(acceptedReason(waiting)).toBe('Accepted'));
    desired.put(third);
    desired.remove(waiting);
    await vi.waitFor(() => expect(acceptedReason(third)).toBe('Accepted'));
    const adopted = moved(shop, project('a', 5));
    desired.put(adopted);
    await vi.waitFor(() =>
      expect([acceptedReason(adopted), acceptedReason(third)]).toEqual(['Accepted', 'Conflicted']),
    );
  });

  test('if they are to a URI with a prefix that the former namespace reserves', async () => {
    const shop = project('b', 1);
    const reserving = make(
      'Account',
      'reserving',
      { uriPrefix: 'shop-' },
      { namespace: 'b', uid: 'reserving', creationTimestamp: '2026-01-02T00:00:00Z' },
    );
    const { desired, acceptedReason } = await lead(a, b, shop, reserving);
    desired.put(waiting);
    desired.remove(shop);
    await vi.waitFor(() => expect(acceptedReason(waiting)).toBe('Accepted'));
    const adopted = moved(shop, project('a', 5));
    desired.put(adopted);
    await vi.waitFor(() => expect(acceptedReason(adopted)).toBe('Accepted'));
  });

  test('if they are to a key and a prefix', async () => {
    const prefixed = (namespace: string, uid: string, name = 'team'): ResourceObject =>
      make('Account', name, { uriPrefix: 'shop-' }, { namespace, uid });
    const own = prefixed('b', 'own');
    const other = prefixed('b', 'other', 'other');
    const { desired, translator, keyed } = await lead(own);
    desired.put(other);
    keyed(other, '0');
    desired.remove(own);
    const recordedState = ({ metadata: { uid } }: ResourceObject) => {
      const { accepted, resolvedRefs } = translator.verdict(uid) ?? {};
      return [accepted?.message.includes('is not reserved'), resolvedRefs?.reason];
    };
    await vi.waitFor(() => expect(recordedState(other)).toEqual([false, 'ResolvedRefs']));
    const adopted = prefixed('a', 'own');
    desired.put(adopted);
    keyed(adopted, '0');
    await vi.waitFor(() => expect(recordedState(adopted)).toEqual([false, 'ResolvedRefs']));
    expect(recordedState(other)).toEqual([true, 'Conflicted']);
  });

  test('but not if it is applied again in its own namespace', async () => {
    const shop = project('b', 1);
    const { desired, acceptedReason } = await lead(a, b, shop);
    desired.put(waiting);
    desired.remove(shop);
    await vi.waitFor(() => expect(acceptedReason(waiting)).toBe('Accepted'));
    desired.put(shop);
    desired.flush();
    expect([acceptedReason(shop), acceptedReason(waiting)]).toEqual(['Conflicted', 'Accepted']);
  });
});

test('a claim lapses 30 days after its holder was deleted', async () => {
  const shop = project('b', 1);
  const newer = project('a', 2);
  await (await lead(a, b, shop)).controller.stop();
  const second = await lead(a, newer);
  await vi.waitFor(() => expect(store.texts()).toContain('project-b b 2026-01-10T00:00:00.000Z'));
  expect(second.acceptedReason(newer)).toBe('Conflicted');
  await second.controller.stop();
  now += 30 * DAY_MS;
  const third = await lead(a, newer);
  await vi.waitFor(() => expect(third.acceptedReason(newer)).toBe('Accepted'));
});

describe('objects that a change of the records does not concern are not evaluated again', () => {
  const COUNT = 300;
  const others = Array.from({ length: COUNT }, (_, n) => account(`other-${n}`));
  const shop = project('b', 1);
  const newer = project('a', 2);
  const another = make('Project', 'another', { accountRef: { name: 'team' } }, { namespace: 'a', uid: 'another' });
  /** Leads until the claims of two deleted Projects have been absent for 30 days, and then once more. */
  const leadAfterLapse = async () => {
    await (await lead(a, b, shop, another, ...others)).controller.stop();
    const second = await lead(a, b, newer, ...others);
    await vi.waitFor(() => expect(store.texts()).toContain('project-b b 2026-01-10T00:00:00.000Z'));
    await second.controller.stop();
    now += 30 * DAY_MS;
    return lead(a, b, newer, ...others);
  };

  test('when a claim lapses', async () => {
    const { acceptedReason, takeRead } = await leadAfterLapse();
    await vi.waitFor(() => expect(acceptedReason(newer)).toBe('Accepted'));
    expect(takeRead()).toBeLessThan(COUNT);
  });

  test('when a claim lapses while the records of others cannot be written', async () => {
    const freed = shardName(recordName(INSTALLATION_KEY, `uri ${URI}`));
    let refused = 0;
    store.disturb = (when, shard) => {
      if (when === 'after' || shard === freed || now === Date.UTC(2026, 0, 10)) return;
      refused += 1;
      throw new SourceError('Unavailable', 'no connection');
    };
    const { acceptedReason } = await leadAfterLapse();
    await vi.waitFor(() => expect(acceptedReason(newer)).toBe('Accepted'));
    expect(refused).toBeGreaterThan(0);
  });

  test('when a claim cannot be recorded', async () => {
    const { desired, takeRead } = await lead(a, ...others);
    let attempts = 0;
    store.disturb = () => {
      attempts += 1;
      throw new SourceError('Invalid', 'the ConfigMap is too large');
    };
    desired.put(shop);
    await vi.waitFor(() => expect(attempts).toBeGreaterThan(3));
    expect(takeRead()).toBeLessThan(COUNT);
  });
});

describe('a key', () => {
  const publishedObject = (translator: Translator, { metadata: { uid } }: ResourceObject): unknown =>
    [...translator.objects()].find((object) => object.uid === uid);

  test('in use is refused to an older Account, and the condition names no other object', async () => {
    const older = { ...a, metadata: { ...a.metadata, creationTimestamp: '2025-01-01T00:00:00Z' } };
    const { desired, translator, keyed } = await lead(b);
    desired.put(older);
    keyed(older, '0');
    await vi.waitFor(() =>
      expect(translator.verdict(older.metadata.uid)?.resolvedRefs).toMatchObject({
        reason: 'Conflicted',
        message: 'The API key in Secret team-api-key is already in use: put a different key in this Secret.',
      }),
    );
    expect(publishedObject(translator, b)).toMatchObject({ keySha256: '0'.repeat(64) });
    expect(publishedObject(translator, older)).not.toHaveProperty('keySha256');
  });

  test('that was replaced stays reserved for its Account', async () => {
    const { desired, translator, keyed } = await lead(b);
    keyed(b, '1');
    await vi.waitFor(() => expect(publishedObject(translator, b)).toMatchObject({ keySha256: '1'.repeat(64) }));
    desired.put(a);
    keyed(a, '0');
    desired.flush();
    expect(translator.verdict(a.metadata.uid)?.resolvedRefs.reason).toBe('Conflicted');
    keyed(b, '0');
    desired.flush();
    expect(publishedObject(translator, b)).toMatchObject({ keySha256: '0'.repeat(64) });
  });

  test('stays published until the next one is recorded', async () => {
    const { desired, translator, keyed } = await lead(b);
    const recording = Promise.withResolvers<undefined>();
    store.disturb = () => recording.promise;
    keyed(b, '1');
    desired.flush();
    expect(publishedObject(translator, b)).toMatchObject({ keySha256: '0'.repeat(64) });
    recording.resolve(undefined);
    await vi.waitFor(() => expect(publishedObject(translator, b)).toMatchObject({ keySha256: '1'.repeat(64) }));
  });
});

describe('two leaders', () => {
  test('serve a URI for one object, if the former one is late', async () => {
    const [former, current] = [await lead(a, b), await lead(a, b)];
    const [late, shop] = [project('a', 1), project('b', 2)];
    current.desired.put(shop);
    await vi.waitFor(() => expect(current.acceptedReason(shop)).toBe('Accepted'));
    former.desired.put(late);
    await vi.waitFor(() => expect(former.acceptedReason(late)).toBe('Conflicted'));
    expect(store.texts().filter((text) => text.startsWith('project'))).toEqual(['project-b b']);
  });

  test('of one process: a write that ends after its term does not bring back the records of that term', async () => {
    const former = await lead(a, b);
    const held = Promise.withResolvers<undefined>();
    store.disturb = (when) => (when === 'before' ? held.promise : undefined);
    const late = project('a', 1);
    former.desired.put(late);
    await vi.waitFor(() => expect(former.verdicts).toEqual(['project-a Pending']));
    const stopped = former.controller.stop();
    const [all, single] = [vi.spyOn(former.desired, 'setHolders'), vi.spyOn(former.translator, 'recorded')];
    held.reject(new SourceError('Unavailable', 'no connection'));
    await stopped;
    for (const listener of [all, single]) expect(listener).not.toHaveBeenCalled();
  });

  test('agree, if the first one ended between its record and its configuration', async () => {
    const former = await lead(a, b);
    const shop = project('b', 2);
    const written = Promise.withResolvers<undefined>();
    store.disturb = (when) => {
      if (when === 'before') return;
      written.resolve(undefined);
      throw new SourceError('Unavailable', 'the operator was killed');
    };
    former.desired.put(shop);
    await written.promise;
    await former.controller.stop();
    expect(former.acceptedReason(shop)).not.toBe('Accepted');
    store.disturb = () => undefined;
    const older = project('a', 1);
    const current = await lead(a, b, shop, older);
    expect([current.acceptedReason(shop), current.acceptedReason(older)]).toEqual(['Accepted', 'Conflicted']);
  });
});

test('a claim that cannot be recorded is retried with backoff, and its object is not served until then', async () => {
  const { desired, verdicts } = await lead(a);
  const attempts: number[] = [];
  store.disturb = (when) => {
    if (when === 'after') return;
    attempts.push(performance.now());
    if (attempts.length < 4) throw new SourceError('Unavailable', 'no connection');
  };
  desired.put(project('a', 1));
  await vi.waitFor(() => expect(verdicts).toEqual(['project-a Pending', 'project-a Accepted']));
  const [first = 0, , , last = 0] = attempts;
  expect(last - first).toBeGreaterThan(100);
});

test('a shard that cannot be written affects only its own claims', async () => {
  const full = shardName(recordName(INSTALLATION_KEY, `uri ${URI}`));
  store.disturb = (_when, shard) => {
    if (shard === full) throw new SourceError('Invalid', 'the ConfigMap is too large');
  };
  const other = make(
    'Project',
    'other',
    { accountRef: { name: 'team' }, uri: 'another-0123456789abcdef' },
    { namespace: 'a', uid: 'other' },
  );
  const shop = project('a', 1);
  const { acceptedReason } = await lead(a, shop, other);
  expect([acceptedReason(other), acceptedReason(shop)]).toEqual(['Accepted', 'Pending']);
  store.disturb = () => undefined;
  await vi.waitFor(() => expect(acceptedReason(shop)).toBe('Accepted'));
});

describe('a prefix', () => {
  const reserving = (namespace: string, day: number): ResourceObject =>
    make(
      'Account',
      'reserving',
      { uriPrefix: 'shop-' },
      { namespace, uid: `reserving-${namespace}`, creationTimestamp: `2026-01-0${day}T00:00:00Z` },
    );

  test('is kept when its Account is deleted and applied again, although another Account waits for it', async () => {
    const [own, waiting] = [reserving('b', 1), reserving('a', 2)];
    const { desired, translator } = await lead(own, waiting, a);
    desired.remove(own);
    desired.flush();
    expect(acceptedMessage(translator, waiting)).toContain('The prefix shop- is not reserved');
    desired.put(reserving('b', 5));
    desired.flush();
    expect(acceptedMessage(translator, own)).not.toContain('not reserved');
    expect(acceptedMessage(translator, waiting)).toContain('The prefix shop- is not reserved');
  });

  const acceptedMessage = (translator: Translator, { metadata: { uid } }: ResourceObject): string | undefined =>
    translator.verdict(uid)?.accepted.message;

  test('of which no Account is left is reserved for its namespace, also by the next leader', async () => {
    await (await lead(reserving('b', 1))).controller.stop();
    const [rival, own] = [project('a', 1), project('b', 2)];
    const next = await lead(a, b, rival, own);
    expect([next.acceptedReason(rival), next.acceptedReason(own)]).toEqual(['Conflicted', 'Accepted']);
  });

  test('lapses 30 days after its Account was deleted, and a Project that waited is then recorded', async () => {
    await (await lead(reserving('b', 1))).controller.stop();
    const rival = project('a', 1);
    const next = await lead(a, rival);
    expect(next.acceptedReason(rival)).toBe('Conflicted');
    await vi.waitFor(() => expect(store.texts()).toContain('reserving-b b 2026-01-10T00:00:00.000Z'));
    await next.controller.stop();
    now += 30 * DAY_MS;
    const last = await lead(a, rival);
    await vi.waitFor(() => expect(last.acceptedReason(rival)).toBe('Accepted'));
    expect(store.texts()).toContain('project-a a');
  });

  test('does not take the URI of a Project that was renamed', async () => {
    const { desired, acceptedReason } = await lead(a, b, project('b', 1));
    desired.put(reserving('c', 2));
    await vi.waitFor(() => expect(store.texts()).toContain('reserving-c c'));
    desired.remove(project('b', 1));
    const renamed = make('Project', 'store', { accountRef: { name: 'team' }, uri: URI }, { namespace: 'b' });
    desired.put(renamed);
    await vi.waitFor(() => expect(acceptedReason(renamed)).toBe('Accepted'));
  });

  test('does not take a URI that was recorded earlier, and refuses an older Project that pins one later', async () => {
    const [old, pinned] = [project('a', 1), project('b', 3)];
    const unpinned = { ...old, spec: { accountRef: { name: 'team' } } };
    const other = make(
      'Account',
      'reserving',
      { uriPrefix: 'shop-' },
      { namespace: 'c', creationTimestamp: '2026-01-05T00:00:00Z' },
    );
    const { desired, acceptedReason } = await lead(a, b, unpinned, pinned, other);
    expect(acceptedReason(pinned)).toBe('Accepted');
    const late = { ...old, spec: { accountRef: { name: 'team' }, uri: 'shop-fedcba9876543210' } };
    desired.put({ ...late, metadata: { ...late.metadata, generation: 2 } });
    desired.flush();
    expect(acceptedReason(late)).toBe('Conflicted');
  });
});
