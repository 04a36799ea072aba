import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { AccessReviews } from './access-reviews.ts';
import type { ClusterUser } from './cluster-user.ts';
import { LiveChanges } from './live-changes.ts';

const never = () => new Promise<never>(() => undefined);
const client = { create: () => Promise.resolve({ status: { allowed: true } }), get: never, watch: never };
const user = { id: 'ada', client } as unknown as ClusterUser;
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
  // A page that joins the same watch is notified at once.
  const joined = vi.fn();
  void watch(third, joined);
  await nextTurn();
  expect([ended.mock.calls, joined.mock.calls]).toEqual([[], [[undefined]]]);
});
