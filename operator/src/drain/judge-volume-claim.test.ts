import { expect, test } from 'vitest';
import { judgeClaim, type ClaimFacts, type DrainJob } from './judge-volume-claim.ts';

const BOUNDS = { quietMs: 600_000, freeJobs: 1 };

/** A claim whose gateway was scaled down some time ago. */
const ORPHAN: ClaimFacts = {
  isDeleting: false,
  isUsed: false,
  isWanted: false,
  use: 'set/5',
  drainedFor: undefined,
  isKnownDrained: false,
  unusedMs: 600_000,
  jobs: [],
  knownJobs: new Set(),
};

const job = (state: DrainJob['state'], use = 'set/5'): DrainJob => ({
  name: `drain-${state}`,
  uid: `uid-${state}`,
  use,
  state,
  completedAt: state === 'succeeded' ? '2026-11-21T12:00:00Z' : undefined,
});
const running = job('running');
const succeeded = job('succeeded');
const failed = job('failed');

test('an orphaned claim gets a Job after the quiet time', () => {
  expect(judgeClaim(ORPHAN, BOUNDS)).toEqual({ kind: 'start' });
});

test.for<[string, Partial<ClaimFacts>, ReturnType<typeof judgeClaim>]>([
  ['is being deleted', { isDeleting: true, isUsed: true }, { kind: 'deleted' }],
  ['has a pod', { isUsed: true }, { kind: 'used', stop: [], isMarked: false }],
  ['has a pod again', { isUsed: true, drainedFor: 'set/5' }, { kind: 'used', stop: [], isMarked: true }],
  [
    'has a pod again while its Job is running',
    { isUsed: true, jobs: [succeeded, running] },
    { kind: 'used', stop: [running], isMarked: false },
  ],
  ['is one of the replicas', { isWanted: true }, { kind: 'expected' }],
  // Draining may continue until the pod starts, which may take a long time.
  ['is wanted again while its Job is running', { isWanted: true, jobs: [running] }, { kind: 'expected' }],
  ['has had no pod for a moment', { unusedMs: 1_000 }, { kind: 'quiet', afterMs: 599_000 }],
  ['has a Job', { jobs: [running] }, { kind: 'draining', job: running }],
  [
    'has a Job for a different use',
    { jobs: [job('running', 'set/3')] },
    { kind: 'draining', job: job('running', 'set/3') },
  ],
  ['has a Job and one that failed', { jobs: [failed, running] }, { kind: 'draining', job: running }],
  ['has a Job that succeeded', { jobs: [succeeded] }, { kind: 'finished', job: succeeded }],
  [
    'has a Job that succeeded, and one that failed before',
    { jobs: [failed, succeeded] },
    { kind: 'finished', job: succeeded },
  ],
  ['has a Job that failed', { jobs: [failed] }, { kind: 'failed', job: failed }],
  ['was drained', { drainedFor: 'set/5' }, { kind: 'drained' }],
  ['was drained, and its Job is still there', { drainedFor: 'set/5', jobs: [succeeded] }, { kind: 'drained' }],
  // The StatefulSet may have been scaled up and down again while no operator led.
  ['was drained before the StatefulSet changed', { drainedFor: 'set/4' }, { kind: 'start' }],
  ['was drained before the StatefulSet was deleted', { use: 'none', drainedFor: 'set/4' }, { kind: 'start' }],
  [
    'was drained before the StatefulSet changed, and has had no pod since',
    { drainedFor: 'set/4', isKnownDrained: true },
    { kind: 'drained' },
  ],
  ['was drained by a Job before the StatefulSet changed', { jobs: [job('succeeded', 'set/4')] }, { kind: 'start' }],
  ['has a Job that failed before the StatefulSet changed', { jobs: [job('failed', 'set/4')] }, { kind: 'start' }],
  [
    'was drained by a Job before the StatefulSet changed, and has had no pod since',
    { jobs: [job('succeeded', 'set/4')], knownJobs: new Set(['uid-succeeded']) },
    { kind: 'finished', job: job('succeeded', 'set/4') },
  ],
])('the verdict is correct for a claim that %s', ([, facts, verdict]) => {
  expect(judgeClaim({ ...ORPHAN, ...facts }, BOUNDS)).toEqual(verdict);
});

test('the number of concurrent Jobs is limited', () => {
  expect(judgeClaim(ORPHAN, { ...BOUNDS, freeJobs: 0 })).toEqual({ kind: 'queued' });
  expect(judgeClaim({ ...ORPHAN, jobs: [succeeded] }, { ...BOUNDS, freeJobs: 0 })).toMatchObject({ kind: 'finished' });
});
