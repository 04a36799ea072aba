import { LIMITS } from '@standin/contract';
import { conditionsIn, readStatus } from '@standin/crds';
import { LogStoreError, type EachCount, type EachFilter, type LastRequest } from '@standin/logstore';
import { pino } from 'pino';
import { Counter, Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newLogRow } from '@standin/exchange/testing';
import type { Settled } from '../gateways/settlement.ts';
import { MemorySource } from '../memory-source.testing.ts';
import { ACCEPTED } from '../translate/findings.ts';
import { expectationController, type ExpectationController } from './expectation-controller.ts';

const CREATED_MS = Date.parse('2026-01-01T00:00:00Z');
/** The end of the time range with a deadline of 10 s. */
const UNTIL_US = (CREATED_MS + 11_000) * 1_000;
const ID = newLogRow().id;

let source: MemorySource;
let controller: ExpectationController;
let registry: Registry;
/** The log: the searches that match, each with the number of requests. */
let log: { certain: number; withoutResponse?: number; inProgress?: number };
let news: string[];
let outage: LogStoreError | undefined;
/** The searches of each query. */
let queries: number[];
let newsReads: number;
let settled: Settled;
let asked: number;

const count = (filter: EachFilter): EachCount => {
  if (filter.search?.kind === 'text') throw new LogStoreError('too slow', { kind: 'retryable', code: '159' });
  const { certain, withoutResponse = 0, inProgress = 0 } = log;
  return { certain, withoutResponse, inProgress, ids: certain > 0 ? [ID] : [] };
};

const begin = ({ hasStore = true } = {}): void => {
  controller = expectationController({
    objects: source.objects,
    events: source.events,
    cache: source.cache,
    logger: pino({ level: 'silent' }),
    registry,
    acceptedFinding: () => ACCEPTED,
    ended: new Counter({ name: 'ended', help: 'ended', labelNames: ['result'], registers: [] }),
    prepareStore: () => Promise.resolve(),
    settlement: {
      settle: () => {
        asked += 1;
        return Promise.resolve(settled);
      },
    },
    store: hasStore
      ? {
          countEach: async (filters) => {
            queries.push(filters.length);
            await Promise.resolve();
            if (outage !== undefined) throw outage;
            return filters.map(count);
          },
          lastRequests: () => {
            newsReads += 1;
            if (outage !== undefined) return Promise.reject(outage);
            return Promise.resolve(
              news.map((uid): LastRequest => ({ uid, namespace: 'default', name: 'shop', receivedAt: new Date() })),
            );
          },
          summaries: () => Promise.resolve([]),
          preview: () => Promise.resolve(undefined),
        }
      : undefined,
  });
  controller.start?.();
};

const put = (spec: object = {}, name = 'refund') =>
  source.put('Expectation', name, { projectRef: { name: 'shop' }, count: { min: 1 }, deadline: '10s', ...spec });
const status = (name = 'refund') => readStatus('Expectation', source.object('Expectation', name).status);
const summary = (name = 'refund'): string[] =>
  conditionsIn(source.object('Expectation', name).status).map((one) => `${one.type}=${one.status} ${one.reason}`);
const message = (type: string): string | undefined =>
  conditionsIn(source.object('Expectation', 'refund').status).find((condition) => condition.type === type)?.message;
const passSeconds = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000);
const arrive = (certain: number): void => {
  log = { certain };
  news = [source.object('Project', 'shop').metadata.uid];
};

beforeEach(async () => {
  vi.useFakeTimers();
  vi.setSystemTime(CREATED_MS);
  log = { certain: 0 };
  news = [];
  outage = undefined;
  queries = [];
  newsReads = 0;
  asked = 0;
  settled = { settled: true, untilUs: Infinity };
  registry = new Registry();
  source = new MemorySource();
  begin();
  // Each object of the source is created a second after the one before.
  await source.follow(
    () => controller,
    (seen) => ({ ...seen, metadata: { ...seen.metadata, creationTimestamp: '2026-01-01T00:00:00Z' } }),
  );
  source.put('Project', 'shop', { accountRef: { name: 'team' } });
});
afterEach(async () => {
  await controller.stop?.();
  vi.useRealTimers();
});

describe('an Expectation', () => {
  it('with a minimum is met when the log has enough requests, before the deadline, with an Event', async () => {
    put();
    await passSeconds(3);
    expect(status()).toMatchObject({ phase: 'Open', from: '2026-01-01T00:00:00Z', until: '2026-01-01T00:00:11Z' });
    expect(summary()).toEqual(['Accepted=True Accepted', 'Reconciling=True Running', 'Decided=False Running']);
    arrive(1);
    await passSeconds(1.1);
    expect(summary()).toEqual(['Accepted=True Accepted', 'Met=True Met', 'Decided=True Met']);
    expect(status()).toMatchObject({ phase: 'Met', matched: 1, requestIds: [ID] });
    expect(message('Decided')).toBe('1 request matched. Expected: at least 1.');
    expect(source.recorded).toMatchObject([{ name: 'refund', type: 'Normal', reason: 'Met' }]);
    expect(asked).toBe(0);
    const before = newsReads;
    await passSeconds(100);
    expect([newsReads - before, controller.openCount]).toEqual([0, 0]);
  });

  it('with a maximum is met after the deadline, when the log is complete', async () => {
    settled = { settled: false, reasons: ['gateway a, which is unreachable', 'b', 'c', 'd'] };
    put({ count: { max: 0 } });
    await passSeconds(10.9);
    expect([status().phase, asked]).toEqual(['Open', 0]);
    await passSeconds(30);
    expect(summary()).toEqual(['Accepted=True Accepted', 'Reconciling=True Waiting', 'Decided=False Waiting']);
    expect(message('Decided')).toBe(
      'Some requests may not be in the log yet: gateway a, which is unreachable; b; c; and 1 more.',
    );
    // A gateway whose clock is behind.
    settled = { settled: true, untilUs: UNTIL_US - 1 };
    await passSeconds(4);
    expect(status().phase).toBe('Open');
    settled = { settled: true, untilUs: UNTIL_US };
    await passSeconds(3.5);
    expect(status()).toMatchObject({ phase: 'Met', matched: 0 });
    expect(message('Met')).toBe('No request matched. Expected: none.');
  });

  it('with a maximum is unmet as soon as there are too many requests', async () => {
    put({ count: { min: 1, max: 1 } });
    arrive(1);
    await passSeconds(2);
    expect(status().phase).toBe('Open');
    arrive(2);
    await passSeconds(1.1);
    expect(summary()).toEqual([
      'Accepted=True Accepted',
      'Failed=True Unmet',
      'Stalled=True Unmet',
      'Decided=True Unmet',
    ]);
    expect(source.recorded).toMatchObject([{ type: 'Warning', reason: 'Unmet' }]);
  });

  it('is not decided by a count that began before the log was complete', async () => {
    put({ count: { max: 0 } });
    settled = { settled: true, untilUs: UNTIL_US };
    await passSeconds(10.9);
    log = { certain: 1 };
    await passSeconds(0.5);
    expect(status()).toMatchObject({ phase: 'Unmet', matched: 1 });
  });

  it('whose search reads responses waits for requests in progress', async () => {
    put({ count: { max: 0 }, filter: { search: 'status:500' } });
    log = { certain: 0, inProgress: 1 };
    await passSeconds(20);
    expect(message('Decided')).toBe('The search reads responses, and 1 request that may match has no response yet.');
    arrive(0);
    await passSeconds(1.1);
    expect(status().phase).toBe('Met');
  });

  it('is undetermined an hour after the deadline if the log is not complete, and keeps that', async () => {
    settled = { settled: false, reasons: ['gateway a, which is unreachable'] };
    put({ count: { max: 0 } });
    await passSeconds(11 + 3_599);
    expect(status().phase).toBe('Open');
    await passSeconds(2);
    expect(summary().slice(1)).toEqual([
      'Failed=True Undetermined',
      'Stalled=True Undetermined',
      'Decided=True Undetermined',
    ]);
    expect(message('Failed')).toMatch(/^It could not be determined how many requests matched\. .*gateway a, which/);
    settled = { settled: true, untilUs: Infinity };
    await passSeconds(100);
    expect(status().phase).toBe('Undetermined');
  });

  it.each([
    ['is decided by an operator that starts hours later', 5 * 3_600, 'Met'],
    ['is undetermined if an operator starts when requests may have expired', 24 * 3_600, 'Undetermined'],
  ])('%s', async (_name, seconds, phase) => {
    await controller.stop?.();
    put({ count: { max: 0 } });
    await passSeconds(seconds);
    registry = new Registry();
    begin();
    await passSeconds(5);
    expect(status().phase).toBe(phase);
  });

  it.each([
    ['', () => undefined],
    [', also when the Purge is removed', () => source.remove('Purge', 'erase')],
  ])('is undetermined if a Purge deleted requests of its time range%s', async (_name, remove) => {
    put({ count: { max: 0 } });
    await passSeconds(1);
    source.put(
      'Purge',
      'erase',
      { projectRef: { name: 'shop' }, filter: { to: '2026-01-01T00:00:05Z' } },
      { phase: 'Completed', matched: 1 },
    );
    remove();
    await passSeconds(12);
    expect(summary()).toContain('Decided=True Undetermined');
    expect(message('Failed')).toMatch(/^Purge erase has deleted requests/);
  });

  it.each([
    ['a maximum is undetermined', { max: 0 }, 'Undetermined'],
    ['a minimum is met', { min: 1 }, 'Met'],
  ])('with %s if its Project has got another identity', async (_name, limits, phase) => {
    put({ count: limits });
    await passSeconds(1);
    const { uid } = source.object('Project', 'shop').metadata;
    source.remove('Project', 'shop');
    source.put('Project', 'shop', { accountRef: { name: 'team' } });
    if (phase === 'Met') {
      log = { certain: 1 };
      news = [uid];
    }
    await passSeconds(12);
    expect(status().phase).toBe(phase);
  });

  it('reports an error of ClickHouse, and is decided when it is available again', async () => {
    outage = new LogStoreError('Could not count log entries: no connection', {
      kind: 'retryable',
      code: 'ECONNREFUSED',
    });
    put({ count: { max: 0 } });
    await passSeconds(60);
    expect(message('Reconciling')).toBe('Could not count log entries: no connection. The operator tries again.');
    outage = undefined;
    await passSeconds(4);
    expect(status().phase).toBe('Met');
  });

  it('is decided by the next leader, and never twice', async () => {
    put();
    arrive(1);
    await passSeconds(0.1);
    put({ count: { max: 0 } }, 'never');
    await controller.stop?.();
    log = { certain: 0 };
    news = [];
    registry = new Registry();
    begin();
    await passSeconds(15);
    expect([status().phase, status('never').phase]).toEqual(['Met', 'Met']);
    log = { certain: 5 };
    await controller.stop?.();
    registry = new Registry();
    begin();
    await passSeconds(15);
    expect([status().phase, status('never').phase]).toEqual(['Met', 'Met']);
    expect(controller.openCount).toBe(0);
  });

  it('of a missing Project waits for it until the deadline', async () => {
    source.remove('Project', 'shop');
    put({}, 'late');
    put();
    await passSeconds(1);
    expect(summary()).toEqual(['Accepted=False ProjectNotFound', 'Reconciling=True Waiting', 'Decided=False Waiting']);
    await passSeconds(11);
    expect(summary()).toEqual([
      'Accepted=False ProjectNotFound',
      'Failed=True Undetermined',
      'Stalled=True Undetermined',
      'Decided=True Undetermined',
    ]);
  });

  it('is counted when its Project is created before the deadline', async () => {
    source.remove('Project', 'shop');
    put();
    await passSeconds(1);
    source.put('Project', 'shop', { accountRef: { name: 'team' } });
    arrive(1);
    await passSeconds(1.1);
    expect(status().phase).toBe('Met');
  });

  it('is counted when its Project is created while its first status is being written', async () => {
    source.remove('Project', 'shop');
    const { promise: written, resolve } = Promise.withResolvers<undefined>();
    source.disturb = (call) => (call === 'writeStatus' ? written : undefined);
    put();
    await passSeconds(0);
    source.put('Project', 'shop', { accountRef: { name: 'team' } });
    await passSeconds(0);
    resolve(undefined);
    arrive(1);
    await passSeconds(1.1);
    expect(status().phase).toBe('Met');
  });

  it('with a mistake in its search ends, with the position', async () => {
    put({ filter: { search: 'method:POST (a' } });
    await passSeconds(0);
    expect(summary()).toEqual([
      'Accepted=False Invalid',
      'Failed=True Undetermined',
      'Stalled=True Undetermined',
      'Decided=True Undetermined',
    ]);
    expect(message('Decided')).toMatch(/at character 13/);
    expect(source.recorded).toMatchObject([{ type: 'Warning', reason: 'Undetermined' }]);
  });

  it('without a log store ends after the deadline', async () => {
    await controller.stop?.();
    registry = new Registry();
    begin({ hasStore: false });
    put();
    await passSeconds(1);
    expect(summary()[0]).toBe('Accepted=False NoLogStore');
    await passSeconds(11);
    expect(summary()).toContain('Decided=True Undetermined');
  });

  it('that is deleted is forgotten', async () => {
    put();
    await passSeconds(1);
    expect(controller.openCount).toBe(1);
    source.remove('Expectation', 'refund');
    expect(controller.openCount).toBe(0);
  });
});

describe('many Expectations', () => {
  const putMany = (many: number): void => {
    for (let index = 0; index < many; index += 1) put({ count: { min: 1 } }, `number-${index}`);
  };

  it('are counted in few queries, and only when their Project has new requests', async () => {
    putMany(100);
    await passSeconds(5);
    expect(queries).toEqual([32, 32, 32, 4]);
    expect(newsReads).toBeLessThan(8);
    arrive(1);
    await passSeconds(1.5);
    expect(source.statusWrites.filter(({ status: { phase } }) => phase === 'Met')).toHaveLength(100);
  });

  it('are counted although the search of one of them is too slow, which is reported', async () => {
    put({ filter: { search: 'slow' }, count: { max: 0 } });
    putMany(40);
    arrive(1);
    await passSeconds(3);
    expect(source.statusWrites.filter(({ status: { phase } }) => phase === 'Met')).toHaveLength(40);
    expect(message('Reconciling')).toMatch(/The search takes too long: create an Expectation with a simpler search\.$/);
  });

  it('of one namespace have a limit, and the next one is counted when there is a place', async () => {
    putMany(LIMITS.expectationsOpenPerNamespaceMax);
    await passSeconds(1);
    put();
    await passSeconds(1);
    expect(summary()).toEqual(['Accepted=False LimitReached', 'Reconciling=True Waiting', 'Decided=False Waiting']);
    put({}, 'last');
    await passSeconds(1);
    source.remove('Expectation', 'number-0');
    await passSeconds(1);
    expect(summary()[0]).toBe('Accepted=True Accepted');
    expect(controller.openCount).toBe(LIMITS.expectationsOpenPerNamespaceMax);
    expect(summary('last')[0]).toBe('Accepted=False LimitReached');
    source.remove('Expectation', 'number-1');
    await passSeconds(1);
    expect(summary('last')[0]).toBe('Accepted=True Accepted');
  });

  it('of one namespace leave their place to the next one if they cannot be counted', async () => {
    source.put('Project', 'gone', { accountRef: { name: 'team' } });
    putMany(LIMITS.expectationsOpenPerNamespaceMax);
    put({ projectRef: { name: 'gone' } });
    await passSeconds(1);
    put({}, 'last');
    await passSeconds(1);
    expect(summary()[0]).toBe('Accepted=False LimitReached');
    source.remove('Project', 'gone');
    source.remove('Expectation', 'number-0');
    await passSeconds(1);
    expect([summary()[0], summary('last')[0]]).toEqual(['Accepted=False ProjectNotFound', 'Accepted=True Accepted']);
  });
});
