import { SourceError } from '@standin/contract';
import { ApiError } from '@standin/kube';
import { tailSummaries, type LogStore } from '@standin/logstore';
import { expect, it } from 'vitest';
import { AccessReviews } from './access-reviews.ts';
import { clusterLogs } from './cluster-logs.ts';
import { testUser } from './cluster-user.testing.ts';
import { Identities } from './identities.ts';

const PROJECT = { namespace: 'team-a', name: 'shop', uid: 'uid-of-shop' };
const { namespace, name, uid } = PROJECT;

/** Opens the log of a project, in which each read finds a new request. `state.review` responds to access reviews. */
const openLog = async () => {
  const state = { now: 0, reads: 0, review: (): Promise<unknown> => Promise.resolve({ status: { allowed: true } }) };
  const client = {
    create: () => state.review(),
    get: () => Promise.resolve({ metadata: { namespace, name, uid, generation: 1 }, spec: {} }),
  };
  const store = {
    summaries: () => Promise.resolve([{ id: `request-${(state.reads += 1)}`, insertedAtMs: 1 }]),
    follow: () => ({ next: () => Promise.resolve([1]), isClosed: false, close: () => undefined }),
  };
  const unused = () => Promise.reject(new Error('unused'));
  const logs = clusterLogs({
    user: testUser(client),
    reviews: new AccessReviews(() => state.now),
    store: store as unknown as LogStore,
    identities: new Identities({ holdIdentities: unused }),
    operator: { refusals: unused, settle: unused },
  });
  return { state, log: await logs.open(PROJECT) };
};

it.each([
  ['the permission is revoked', () => Promise.resolve({ status: { allowed: false } }), 'Forbidden'],
  [
    'the token expires',
    () => Promise.reject(new ApiError('expired', { status: 401, reason: 'Unauthorized', request: 'POST' })),
    'Unauthorized',
  ],
])('a stream of requests ends within 15 seconds after %s', async (_, review, kind) => {
  const { state, log } = await openLog();
  const tail = tailSummaries(log, { projectUid: uid }, new AbortController().signal, { pollIntervalMs: 1 });
  expect((await tail.next()).value).toMatchObject({ id: 'request-1' });
  state.review = review;
  state.now = 15_001;
  const ended = await tail.next().catch((error: unknown) => error);
  expect(ended).toBeInstanceOf(SourceError);
  expect(ended).toMatchObject({ kind });
});
