import { LogStoreError, type EachFilter } from '@standin/logstore';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import { OpenExpectations } from './open-expectations.ts';

const SLOW_MS = 10_000;

let opened: OpenExpectations;
/** The namespaces whose requests were counted, in order. */
let counted: string[];
let isRefused: boolean;
let uids: string[];

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const countEach = async (filters: readonly EachFilter[]) => {
  const { namespace = '' } = filters[0] ?? {};
  if (namespace.startsWith('slow')) await wait(SLOW_MS);
  counted.push(namespace);
  if (isRefused) throw new LogStoreError('too slow', { kind: 'retryable', code: '159' });
  return filters.map(() => ({ certain: 0, withoutResponse: 0, inProgress: 0, ids: [] }));
};

beforeEach(() => {
  vi.useFakeTimers();
  [counted, uids, isRefused] = [[], [], false];
  opened = new OpenExpectations({
    store: {
      countEach,
      lastRequests: () =>
        Promise.resolve(uids.map((uid) => ({ uid, namespace: uid, name: 'shop', receivedAt: new Date() }))),
      summaries: () => Promise.resolve([]),
      preview: () => Promise.resolve(undefined),
    },
    prepareStore: () => Promise.resolve(),
    settlement: { settle: () => Promise.resolve({ settled: true, untilUs: Infinity }) },
    lost: () => undefined,
    onChange: () => undefined,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    clock: () => Date.now(),
  });
});
afterEach(async () => {
  const stopped = opened.stop();
  await vi.advanceTimersByTimeAsync(2 * SLOW_MS);
  await stopped;
  vi.useRealTimers();
});

/** The Project of a namespace has its name as its uid. */
const track = (uid: string, namespace: string): void => {
  const untilUs = Date.now() * 1_000;
  const project = new MemorySource().put('Project', 'shop', {});
  const filter = { projectUid: namespace, namespace, project: 'shop', sinceUs: 0, untilUs };
  const expected = { min: 1, max: 1 };
  const range = { fromUs: 0, untilUs };
  opened.track(uid, { kind: 'ready', range, expected, project, filter, search: undefined, searchLength: 0 });
  uids.push(namespace);
};

it('slow counts of many namespaces do not hold up another namespace', async () => {
  for (let index = 0; index < 20; index += 1) track(`slow-${index}`, `slow-${index}`);
  await vi.advanceTimersByTimeAsync(8 * SLOW_MS);
  track('quick', 'quick');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(counted).toContain('quick');
});

it('counts that fail after the deadline use at most half of a worker', async () => {
  isRefused = true;
  for (let index = 0; index < 20; index += 1) track(`slow-${index}`, 'slow');
  for (let index = 0; index < 20; index += 1) opened.settle(`slow-${index}`);
  // Until each search is alone.
  await vi.advanceTimersByTimeAsync(100 * SLOW_MS);
  const before = counted.length;
  await vi.advanceTimersByTimeAsync(100 * SLOW_MS);
  expect(counted.length - before).toBeLessThanOrEqual(51);
});
