import { SourceError } from '@standin/contract';
import { conditionsIn, readStatus } from '@standin/crds';
import { LogStoreError, type LogStore, type PurgeStep } from '@standin/logstore';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import { ACCEPTED } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';
import type { Controller } from '../controller.ts';
import { purgeController, type PurgeControllerOptions } from './purge-controller.ts';

const SPEC = {
  projectRef: { name: 'shop' },
  filter: { search: 'body:jane', to: '2026-01-01T00:00:00Z' },
  reason: 'erasure request',
};

let source: MemorySource;
let controller: Controller;
let now: number;
let accepted: Finding | undefined;
let undelivered: readonly string[];
/** How often reports were asked for. */
let asks: number;
let storing: PurgeControllerOptions['replays']['storing'];
/** The calls to the log store, in order. */
let calls: string[];
let count: number;
/** The next results of `requests` and `results`. The last result of each method is repeated. */
let requests: (PurgeStep | LogStoreError)[];
let results: PurgeStep[];

const next = <T>(steps: T[]): T => (steps.length > 1 ? steps.shift() : steps[0]) as T;

const purges: LogStore['purges'] = {
  count: () => {
    calls.push('count');
    return Promise.resolve(count);
  },
  requests: () => {
    calls.push('requests');
    const step = next(requests);
    return step instanceof LogStoreError ? Promise.reject(step) : Promise.resolve(step);
  },
  results: () => {
    calls.push('results');
    return Promise.resolve(next(results));
  },
};

const begin = ({ hasStore = true } = {}): void => {
  controller = purgeController({
    objects: source.objects,
    events: source.events,
    cache: source.cache,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    clock: () => now,
    store: hasStore ? { purges } : undefined,
    prepareStore: () => Promise.resolve(),
    acceptedFinding: () => accepted,
    undelivered: () => undelivered,
    askForReports: () => {
      asks += 1;
      undelivered = undelivered.filter((one) => one !== 'until asked');
    },
    replays: { storing: (project, readBefore) => storing(project, readBefore) },
  });
  controller.start?.();
};

const status = () => readStatus('Purge', source.object('Purge', 'erase').status);
const summary = (): string[] =>
  conditionsIn(source.object('Purge', 'erase').status).map(({ type, reason }) => `${type} ${reason}`);
const conditionMessage = (type: string): string | undefined =>
  conditionsIn(source.object('Purge', 'erase').status).find((condition) => condition.type === type)?.message;
const passSeconds = async (seconds: number): Promise<void> => {
  now += seconds * 1_000;
  await vi.advanceTimersByTimeAsync(seconds * 1_000);
};

beforeEach(async () => {
  vi.useFakeTimers();
  now = Date.parse('2026-01-01T12:00:00Z');
  accepted = ACCEPTED;
  undelivered = [];
  asks = 0;
  storing = () => [];
  calls = [];
  count = 3;
  requests = ['running', 'done'];
  results = ['done'];
  source = new MemorySource();
  begin();
  await source.follow(() => controller);
  source.put('Project', 'shop', { accountRef: { name: 'team' } });
});
afterEach(async () => {
  await controller.stop?.();
  vi.useRealTimers();
});

describe('a Purge', () => {
  it('begins when its Project is created while its first status is being written', async () => {
    source.remove('Project', 'shop');
    const { promise: written, resolve } = Promise.withResolvers<undefined>();
    source.disturb = (call) => (call === 'writeStatus' ? written : undefined);
    source.put('Purge', 'erase', SPEC);
    await passSeconds(0);
    source.put('Project', 'shop', { accountRef: { name: 'team' } });
    await passSeconds(0);
    resolve(undefined);
    await passSeconds(0);
    expect(status().phase).toBe('Running');
  });

  it('counts, deletes the requests, then the results of replays, and reports it with an Event on the Project', async () => {
    source.put('Purge', 'erase', SPEC);
    await passSeconds(0);
    expect(status()).toMatchObject({ phase: 'Running', matched: 3 });
    expect(conditionMessage('Reconciling')).toBe('Deleting 3 requests.');
    // A small deletion is noticed soon.
    await passSeconds(0.5);
    expect(calls).toEqual(['count', 'requests', 'requests', 'results']);
    expect(summary()).toEqual(['Accepted Accepted', 'Complete Succeeded']);
    expect(status()).toMatchObject({ phase: 'Completed', matched: 3, completedAt: expect.any(String) as string });
    expect(source.recorded).toMatchObject([
      { name: 'shop', type: 'Normal', reason: 'Purged', message: 'Purge erase deleted 3 requests from the log.' },
    ]);
    await passSeconds(100);
    expect(calls).toHaveLength(4);
  });

  it('deletes nothing before everything is delivered, and names what it is waiting for', async () => {
    undelivered = ['gateway a, which is unreachable', 'volume b', 'gateway c', 'gateway d'];
    source.put('Purge', 'erase', SPEC);
    await passSeconds(100);
    expect(calls).toEqual([]);
    expect(status()).toMatchObject({ phase: 'Waiting', waitingFor: undelivered });
    expect(conditionMessage('Reconciling')).toBe(
      'Matching requests may still arrive. Waiting for gateway a, which is unreachable; volume b; gateway c; and 1 more.',
    );
    undelivered = [];
    await passSeconds(10);
    expect(status()).toMatchObject({ phase: 'Completed' });
    expect(status().waitingFor).toBeUndefined();
  });

  it('asks for reports when they can cover what it selects, then less often, and does not wait for the next heartbeat', async () => {
    undelivered = ['until asked'];
    source.put('Purge', 'erase', SPEC);
    await passSeconds(1.9);
    expect([asks, status().phase]).toEqual([0, 'Waiting']);
    await passSeconds(0.7);
    expect([asks, status().phase]).toEqual([1, 'Completed']);
    undelivered = ['gateway a'];
    source.put('Purge', 'other', SPEC);
    await passSeconds(2 + 0.1 + 0.2 + 0.4 + 0.8 + 60);
    expect(asks).toBe(1 + 5 + 60);
  });

  it('reports an error of ClickHouse, and tries again', async () => {
    const error = new LogStoreError('Could not delete requests: no connection', {
      kind: 'retryable' as const,
      code: 'ECONNREFUSED',
    });
    requests = [error, 'failing', 'failing', 'done'];
    source.put('Purge', 'erase', SPEC);
    await passSeconds(2);
    expect(conditionMessage('Reconciling')).toBe('Could not delete requests: no connection. The operator tries again.');
    await passSeconds(8.2);
    expect(conditionMessage('Reconciling')).toMatch(
      /ClickHouse reports an error and tries again: see system\.mutations\.$/,
    );
    await passSeconds(10);
    expect(status().phase).toBe('Completed');
  });

  it('keeps the number of matching requests when a new leader continues', async () => {
    requests = ['running'];
    source.put('Purge', 'erase', SPEC);
    await passSeconds(5);
    await controller.stop?.();
    count = 0;
    requests = ['done'];
    begin();
    await passSeconds(10);
    expect(status()).toMatchObject({ phase: 'Completed', matched: 3 });
    expect(calls.filter((call) => call === 'count')).toHaveLength(1);
  });

  it('waits for the replays that may have read a request before it was gone, and not for later ones', async () => {
    const startedAt = performance.now();
    const reading = new Map([['earlier', startedAt]]);
    storing = ({ namespace, name }, readBefore) => {
      expect([namespace, name]).toEqual(['default', 'shop']);
      return [...reading].flatMap(([replay, since]) => (since <= readBefore ? [replay] : []));
    };
    source.put('Purge', 'erase', SPEC);
    await passSeconds(10);
    expect(calls).not.toContain('results');
    expect(status()).toMatchObject({ phase: 'Waiting', waitingFor: ['Replay earlier'] });
    expect(conditionMessage('Reconciling')).toBe(
      'A replay may be sending deleted requests. Waiting for Replay earlier.',
    );
    reading.set('later', performance.now());
    reading.delete('earlier');
    await passSeconds(10);
    expect(status().phase).toBe('Completed');
  });

  it('is refused if its search is not valid, and after a day without its Project', async () => {
    source.put('Purge', 'erase', { ...SPEC, filter: { ...SPEC.filter, search: 'status:' } });
    await passSeconds(1);
    expect(summary()).toEqual(['Accepted Invalid', 'Failed Failed', 'Stalled Failed']);
    expect(source.recorded).toMatchObject([{ name: 'erase', type: 'Warning', reason: 'Invalid' }]);
    source.remove('Purge', 'erase');
    now = Date.parse('2026-01-01T12:00:00Z');
    source.put('Purge', 'erase', { ...SPEC, projectRef: { name: 'none' } });
    await passSeconds(1);
    expect(summary()).toEqual(['Accepted ProjectNotFound', 'Reconciling Waiting']);
    now = Date.parse(source.object('Purge', 'erase').metadata.creationTimestamp) + 86_400_000;
    await controller.stop?.();
    begin();
    await passSeconds(1);
    expect(status().phase).toBe('Refused');
    expect(calls).toEqual([]);
  });

  it('is refused although another client changed it at the same time', async () => {
    let conflicts = 1;
    source.disturb = (call) => {
      if (call === 'writeStatus' && conflicts-- > 0) throw new SourceError('Conflict', 'it changed');
    };
    source.put('Purge', 'erase', { ...SPEC, filter: { ...SPEC.filter, search: 'status:' } });
    await passSeconds(0);
    expect(status().phase).toBeUndefined();
    await passSeconds(1);
    expect(status().phase).toBe('Refused');
  });

  it('waits for its Project to be valid, and for a log store', async () => {
    accepted = undefined;
    source.put('Purge', 'erase', SPEC);
    await passSeconds(1);
    expect(summary()).toEqual(['Accepted ProjectNotReady', 'Reconciling Waiting']);
    accepted = ACCEPTED;
    await controller.stop?.();
    begin({ hasStore: false });
    await passSeconds(1);
    expect(summary()).toEqual(['Accepted NoLogStore', 'Reconciling Waiting']);
    await controller.stop?.();
    begin();
    await passSeconds(10);
    expect(status().phase).toBe('Completed');
  });
});
