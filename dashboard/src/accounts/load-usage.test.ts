import { SourceError, type ResourceObject } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import { expect, it, onTestFinished, vi } from 'vitest';
import { backendWith } from '../api/api-server.testing.ts';
import type { Backend } from '../backend.ts';
import { LOG_MS_MAX } from './account-usage.ts';
import { loadUsage } from './load-usage.ts';

const NOW = new Date('2026-11-21T12:00:00Z');

const object = (kind: ResourceObject['kind'], name: string, spec: unknown): ResourceObject => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind,
  metadata: { name, namespace: 'default', uid: name, generation: 1, resourceVersion: '1', creationTimestamp: '' },
  spec,
});
const project = (name: string, account: string, retentionDays: number): ResourceObject =>
  object('Project', name, { displayName: name, accountRef: { name: account }, retentionDays });
const ACCOUNT = object('Account', 'team-a', { plan: 'Free', monthlyQuota: 1_000 });

const COUNTED = { ...ACCOUNT, status: { usage: { period: '2026-11', accepted: 70, quota: 1_000 } } };
const UNAVAILABLE = new LogStoreError('secret', { kind: 'retryable', code: 'ECONNREFUSED' });

const load = (usage: Backend['logs']['usage'], account = ACCOUNT) => {
  const projects = [project('short', 'team-a', 7), project('long', 'team-a', 30), project('theirs', 'team-b', 1)];
  const backend = backendWith({}, { list: () => Promise.resolve(projects) });
  return loadUsage({ ...backend, logs: { ...backend.logs, usage } }, account, NOW);
};

it('counts the account’s requests this month, and lists projects with a shorter retention', async () => {
  const asked: unknown[] = [];
  const loaded = await load((account, { from, to }) => {
    asked.push(account.uid, from.toISOString(), to.toISOString());
    return Promise.resolve({ days: [{ day: '2026-11-21', requests: 5 }], endpoints: [], storedBytes: 0 });
  });
  expect(asked).toEqual(['team-a', '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z']);
  expect(loaded).toMatchObject({
    usage: { total: 5, quota: 1_000 },
    forgetful: [{ project: 'short', retentionDays: 7 }],
  });
  expect(loaded.forgetful).toHaveLength(1);
});

it.each([
  [UNAVAILABLE, /ClickHouse/],
  [new SourceError('Forbidden', 'you may not see it'), /you may not see it/],
])('returns the quota, and the reason why it cannot count: %s', async (error, why) => {
  const loaded = await load(() => Promise.reject(error));
  expect(loaded).toMatchObject({ usage: undefined, quota: 1_000 });
  expect(loaded.refusal).toMatch(why);
  expect(loaded.refusal).not.toContain('secret');
});

it('returns the operator’s count while the log is unavailable', async () => {
  const { usage, refusal } = await load(() => Promise.reject(UNAVAILABLE), COUNTED);
  expect({ usage, refusal }).toMatchObject({
    usage: { used: 70, isExact: true, days: [], logFailure: 'Cannot read from ClickHouse (ECONNREFUSED).' },
    refusal: undefined,
  });
});

it('stops waiting for a log that is not responding', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const loading = load(() => new Promise(() => undefined), COUNTED);
  await vi.advanceTimersByTimeAsync(LOG_MS_MAX);
  expect((await loading).usage).toMatchObject({ used: 70, logFailure: 'Cannot read from ClickHouse (ETIMEDOUT).' });
});

it('hides the operator’s count from users without permission', async () => {
  const refused = new SourceError('Forbidden', 'you may not see it');
  expect((await load(() => Promise.reject(refused), COUNTED)).usage).toBeUndefined();
});
