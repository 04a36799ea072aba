import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { AccessReviews } from './access-reviews.ts';
import type { ClusterUser } from './cluster-user.ts';
import { LiveChanges } from './live-changes.ts';

it('reports a possible change to a page that joins a watch, because the page was loaded before', async () => {
  const never = () => new Promise<never>(() => undefined);
  const client = { create: () => Promise.resolve({ status: { allowed: true } }), get: never, watch: never };
  const user = { id: 'ada', client } as unknown as ClusterUser;
  const changes = new LiveChanges(new AccessReviews(), pino({ level: 'silent' }));
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const [first, second] = [vi.fn(), vi.fn()];
  for (const onChange of [first, second]) {
    void changes.watch(user, { namespace: 'shop', onChange, signal: stopping.signal });
    await nextTurn();
  }
  expect([first.mock.calls, second.mock.calls]).toEqual([[], [[undefined]]]);
});
