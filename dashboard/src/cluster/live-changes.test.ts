import { setImmediate as nextTurn } from 'node:timers/promises';
import { KINDS } from '@standin/contract';
import type { CallOptions } from '@standin/kube';
import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Pools } from '../pools.ts';
import { AccessReviews } from './access-reviews.ts';
import { testUser } from './cluster-user.testing.ts';
import { LiveChanges } from './live-changes.ts';

const never = () => new Promise<never>(() => undefined);
const client = { create: () => Promise.resolve({ status: { allowed: true } }), get: never, watch: never };
const user = testUser(client);
const newChanges = () => new LiveChanges(new AccessReviews(), pino({ level: 'silent' }));

it('reports a possible change to a page that joins a watch, because the page was loaded before', async () => {
  const changes = newChanges();
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const [first, second] = [vi.fn(), vi.fn()];
  for (const onChange of [first, second]) {
    void changes.watch(user, { namespace: 'shop', onChange, signal: stopping.signal });
    await nextTurn();
  }
  expect([first.mock.calls, second.mock.calls]).toEqual([[], [[undefined]]]);
});

it('watches for the other pages of a user after one of them is closed', async () => {
  const changes = newChanges();
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  onTestFinished(() => [second, third].forEach((page) => page.abort()));
  const ended = vi.fn();
  const watch = ({ signal }: AbortController, onChange = vi.fn()) =>
    changes.watch(user, { namespace: 'shop', onChange, signal });
  const [left, kept] = [watch(first), watch(second)];
  kept.then(ended, ended);
  await nextTurn();
  first.abort();
  await left;
  // A page that joins the same watch is notified immediately.
  const joined = vi.fn();
  void watch(third, joined);
  await nextTurn();
  expect([ended.mock.calls, joined.mock.calls]).toEqual([[], [[undefined]]]);
});

it('lists in small pages, because they are not counted as memory of the user', async () => {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const get = vi.fn<(path: string, options: CallOptions) => Promise<never>>(never);
  const options = { namespace: 'shop', onChange: vi.fn(), signal: stopping.signal };
  void newChanges().watch(testUser({ ...client, get }), options);
  await nextTurn();
  expect(get.mock.calls.map(([, { query, bytesMax }]) => [query?.['limit'], bytesMax])).toEqual(
    KINDS.map(() => [50, 1024 * 1024]),
  );
});

it.each(['', '.', '..'])(
  'a watch of the namespace %j is rejected, and takes nothing from the user',
  async (namespace) => {
    const pools: Pools = new Map();
    const changes = new LiveChanges(new AccessReviews(), pino({ level: 'silent' }), pools);
    const { signal } = new AbortController();
    await expect(changes.watch(user, { namespace, onChange: vi.fn(), signal })).rejects.toThrow();
    expect(pools.get('watches')?.used).toBe(0);
  },
);

it('one user has half of the watches, however many tokens the user has', async () => {
  const changes = newChanges();
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  let watches = 0;
  const counting = {
    ...client,
    get: () => {
      watches += 1;
      return never();
    },
  };
  const open = async (holder: string, count: number): Promise<number> => {
    const before = watches;
    for (let index = 0; index < count; index += 1) {
      const user = testUser(counting, { id: `${holder} ${index}`, findHolder: () => Promise.resolve(holder) });
      void changes.watch(user, { namespace: 'shop', onChange: () => undefined, signal: stopping.signal });
    }
    await nextTurn();
    return (watches - before) / KINDS.length;
  };
  expect(await open('ada', 150)).toBe(100);
  expect(await open('bob', 1)).toBe(1);
});
