import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { NamespaceLimit, type LimitedObject } from './namespace-limit.ts';

const KIB = 1024;
/** What each object costs beside its content. */
const OBJECT_KIB = 8;
const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

interface Wanted {
  readonly name: string;
  readonly kib: number;
  readonly kind?: LimitedObject['kind'];
  readonly namespace?: string;
  /** The second in which the object was created. */
  readonly age?: number;
}

const object = ({ name, kib, kind = 'Endpoint', namespace = 'a', age = 0 }: Wanted): LimitedObject => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind,
  metadata: {
    name,
    namespace,
    uid: `uid-${name}`,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: new Date(age * 1_000).toISOString(),
    labels: { team: 'a' },
  },
  spec: { text: 'x'.repeat(kib * KIB) },
  status: { conditions: [] },
});

/** A cluster whose objects go through a limit of `kib` KiB for each namespace. */
const cluster = (kib: number) => {
  const stop = new AbortController();
  stops.push(stop);
  const objects = new Map<string, LimitedObject>();
  const passed = new Map<string, LimitedObject>();
  const reads: string[] = [];
  const limit = new NamespaceLimit({
    bytesMax: kib * KIB,
    roomMs: 1,
    logger: pino({ level: 'silent' }),
    signal: stop.signal,
    read: async ({ metadata: { name } }) => {
      reads.push(name);
      return Promise.resolve(objects.get(name));
    },
  });
  const handler = limit.limit({
    put: (put) => void passed.set(put.metadata.name, put),
    remove: ({ metadata }) => void passed.delete(metadata.name),
  });
  return {
    reads,
    passed,
    put: (wanted: Wanted) => {
      objects.set(wanted.name, object(wanted));
      handler.put(object(wanted));
    },
    remove: (name: string) => {
      const removed = objects.get(name);
      objects.delete(name);
      if (removed !== undefined) handler.remove({ ...removed, spec: undefined });
    },
    /** Replaces an object by another one with its name. The watch has not reported it yet. */
    recreate: (wanted: Wanted) => {
      const created = object(wanted);
      objects.set(wanted.name, { ...created, metadata: { ...created.metadata, uid: 'another' } });
    },
    /** The names of the objects that are passed on with their content. */
    whole: () => [...passed.values()].filter(({ spec }) => spec !== undefined).map(({ metadata }) => metadata.name),
  };
};

test('passes on everything within the limit', () => {
  const { put, whole, passed } = cluster(100);
  put({ name: 'new', kib: 30, age: 2 });
  put({ name: 'old', kib: 30, age: 1 });
  expect(whole()).toEqual(['new', 'old']);
  expect(passed.get('new')).toEqual(object({ name: 'new', kib: 30, age: 2 }));
});

test('withholds the content of the newest objects, whatever the order in which they arrive', () => {
  const { put, whole, passed } = cluster(100);
  put({ name: 'new', kib: 30, age: 3 });
  put({ name: 'older', kib: 30, age: 2 });
  put({ name: 'oldest', kib: 30, age: 1 });
  expect(whole()).toEqual(['older', 'oldest']);
  const { metadata, spec, status, isBeyondLimit } = passed.get('new') ?? {};
  expect({ spec, isBeyondLimit, status }).toEqual({ spec: undefined, isBeyondLimit: true, status: { conditions: [] } });
  expect(metadata).toMatchObject({ name: 'new', uid: 'uid-new', generation: 1, resourceVersion: '1' });
  expect(metadata?.labels).toEqual({});
});

test('counts many small objects', () => {
  const { put, whole } = cluster(10 * OBJECT_KIB);
  for (let age = 0; age < 20; age += 1) put({ name: `e${age}`, kib: 0, age });
  expect(whole().length).toBeGreaterThan(5);
  expect(whole().length).toBeLessThan(10);
});

test('does not pass on one-time operations beyond the limit, until there is room', async () => {
  const { put, remove, passed, whole } = cluster(100);
  put({ name: 'endpoint', kib: 80, age: 1 });
  put({ name: 'replay', kib: 10, kind: 'Replay', age: 2 });
  expect([...passed.keys()]).toEqual(['endpoint']);
  remove('endpoint');
  await expect.poll(whole).toContain('replay');
});

test('does not pass on an object that was created again before the watch reports it', async () => {
  const { put, remove, recreate, reads, whole } = cluster(100);
  put({ name: 'old', kib: 80, age: 1 });
  put({ name: 'new', kib: 80, age: 2 });
  recreate({ name: 'new', kib: 80, age: 2 });
  remove('old');
  await expect.poll(() => reads).toContain('new');
  expect(whole()).toEqual([]);
});

test('withholds an operation that has been passed on when an older object grows', () => {
  const { put, passed } = cluster(100);
  put({ name: 'endpoint', kib: 10, age: 1 });
  put({ name: 'replay', kib: 10, kind: 'Replay', age: 2 });
  expect(passed.has('replay')).toBe(true);
  put({ name: 'endpoint', kib: 80, age: 1 });
  expect([...passed.keys()]).toEqual(['endpoint']);
});

test('counts the certificates in a ConfigMap ten times, and shows one beyond the limit', () => {
  const { put, whole, passed } = cluster(100);
  put({ name: 'ca', kib: 8, kind: 'ConfigMap', age: 1 });
  put({ name: 'more', kib: 1, kind: 'ConfigMap', age: 2 });
  expect(whole()).toEqual(['ca']);
  expect(passed.get('more')).toMatchObject({ kind: 'ConfigMap', isBeyondLimit: true, spec: undefined });
});

test('namespaces do not affect each other', () => {
  const { put, whole } = cluster(100);
  put({ name: 'large', kib: 90, namespace: 'a' });
  put({ name: 'other', kib: 90, namespace: 'b' });
  expect(whole()).toEqual(['large', 'other']);
});

test('counts a large status, and does not count one of ordinary size', () => {
  const { put, whole, passed } = cluster(100);
  put({ name: 'a', kib: 91 });
  expect(whole()).toEqual(['a']);
  const forged = { ...object({ name: 'b', kib: 1, namespace: 'b' }), status: { url: 'x'.repeat(200 * KIB) } };
  const limit = new NamespaceLimit({
    bytesMax: 100 * KIB,
    logger: pino({ level: 'silent' }),
    signal: AbortSignal.abort(),
    read: () => Promise.resolve(undefined),
  });
  limit.limit({ put: (put) => void passed.set('b', put), remove: () => undefined }).put(forged);
  expect(passed.get('b')).toMatchObject({ isBeyondLimit: true });
  // A status that is not counted is not kept.
  expect(passed.get('b')?.status).toBeUndefined();
});

test('an object that grows and shrinks does not cause reads each time', async () => {
  const { put, reads } = cluster(100);
  for (let age = 1; age < 5; age += 1) put({ name: `e${age}`, kib: 1, age });
  for (let turn = 0; turn < 100; turn += 1) put({ name: 'oldest', kib: turn % 2 === 0 ? 90 : 1 });
  expect(reads).toEqual([]);
  await expect.poll(() => reads.length).toBeGreaterThanOrEqual(4);
  expect(reads.length).toBeLessThan(8);
});

const change = fc.record({
  name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  kib: fc.oneof(fc.constant(-1), fc.integer({ min: 0, max: 60 })),
  isOperation: fc.boolean(),
});

test('the oldest objects are passed on, whatever happened before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 40 }), async (changes) => {
      const { put, remove, whole, passed } = cluster(100);
      const expected = new Map<string, number>();
      const kindFor = new Map<string, LimitedObject['kind']>();
      for (const { name, kib, isOperation } of changes) {
        if (kib < 0) {
          remove(name);
          expected.delete(name);
          kindFor.delete(name);
          continue;
        }
        const kind = kindFor.get(name) ?? (isOperation ? 'Replay' : 'Endpoint');
        kindFor.set(name, kind);
        put({ name, kib, kind, age: name.charCodeAt(0) });
        expected.set(name, kib);
        const used = whole().reduce((sum, each) => sum + (expected.get(each) ?? 0) + OBJECT_KIB, 0);
        expect(used).toBeLessThanOrEqual(100);
      }
      const oldest: string[] = [];
      let used = 0;
      for (const name of [...expected.keys()].sort()) {
        // An object's metadata takes up less than 1 KiB.
        used += (expected.get(name) ?? 0) + OBJECT_KIB + 0.25;
        if (used > 100) break;
        oldest.push(name);
      }
      await expect.poll(() => whole().sort(), { interval: 1 }).toEqual(oldest);
      const others = [...expected.keys()].filter((name) => !oldest.includes(name));
      const shown = others.filter((name) => kindFor.get(name) === 'Endpoint').sort();
      expect([...passed.keys()].filter((name) => !oldest.includes(name)).sort()).toEqual(shown);
    }),
  );
});
