import { LIMITS } from '@standin/contract';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { make } from '../translate/translator.testing.ts';
import { MemoryIdentities } from './memory-identities.testing.ts';
import { recordIdentities, type Candidate } from './record-identities.ts';
import type { CheckedEntry } from './resolve-identity.ts';

let store: MemoryIdentities;
let checked: WeakMap<Candidate, CheckedEntry>;
let candidates: readonly Candidate[];

beforeEach(() => {
  store = new MemoryIdentities();
  checked = new WeakMap();
  candidates = Array.from({ length: 20 }, (_, index) => ({
    object: make('Project', `shop-${index}`, {}, { uid: `uid-${index}` }),
    known: undefined,
  }));
  store.objects = () => candidates.map(({ object }) => object);
});

const record = () => recordIdentities(store, { namespace: 'default', isFinal: false, checked }, candidates);

test('other work has its turn while the identities of a large namespace are resolved', async () => {
  let now = 0;
  // Each look at the clock is the end of a step that took this long.
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 30));
  onTestFinished(() => clock.mockRestore());
  let turns = 0;
  let isResolved = false;
  const take = (): void => {
    turns += 1;
    if (!isResolved) setImmediate(take);
  };
  setImmediate(take);
  await record();
  isResolved = true;
  expect(turns).toBeGreaterThan(candidates.length / 2);
});

test('an entry that did not change is not verified again', async () => {
  await record();
  await record();
  const first = candidates.map((candidate) => checked.get(candidate));
  expect(first).not.toContain(undefined);
  await record();
  expect(candidates.every((candidate, index) => checked.get(candidate) === first[index])).toBe(true);
});

/** Fills the Secret with the entries of this many other objects. */
const fill = (count: number): void => {
  const others = Array.from({ length: count }, (_, n) => [`Project.p${n}`, 'x'] as const);
  store.namespaces.set('default', new Map(others));
};

test.each([0, 1])(
  'objects beyond the maximum, exceeded by %i, are neither looked up nor written each time',
  async (more) => {
    fill(LIMITS.identitiesPerNamespaceMax + more);
    const { identities, problem } = await record();
    expect(problem).toContain('has reached the maximum');
    expect(identities.map((known) => known?.uid)).toEqual(candidates.map(({ object }) => object.metadata.uid));
    expect([store.lists, store.writes]).toEqual([[], 0]);
  },
);

test('objects that no longer exist need no entry below the maximum', async () => {
  fill(LIMITS.identitiesPerNamespaceMax - 1);
  const last = candidates.at(-1)?.object;
  store.objects = () => (last === undefined ? [] : [last]);
  expect(await record()).toEqual({
    identities: [...Array.from({ length: candidates.length - 1 }, () => undefined), { uid: 'uid-19', epoch: 0 }],
  });
  expect(store.namespaces.get('default')?.has('Project.shop-19')).toBe(true);
});
