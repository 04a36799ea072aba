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

test('objects beyond the maximum are neither looked up nor written each time', async () => {
  const others = Array.from({ length: LIMITS.identitiesPerNamespaceMax }, (_, n) => [`Project.p${n}`, 'x'] as const);
  store.namespaces.set('default', new Map(others));
  const { identities, problem } = await record();
  expect(problem).toContain('has reached the maximum');
  expect(identities.map((known) => known?.uid)).toEqual(candidates.map(({ object }) => object.metadata.uid));
  expect([store.lists, store.writes]).toEqual([[], 0]);
});
