import { Readable } from 'node:stream';
import type { ResourceObject, SourceListener } from '@standin/contract';
import { createEgress, EgressError, type Egress, type UpstreamRequest } from '@standin/egress';
import { systemClock, type Clock } from '@standin/kube';
import type { LogStore } from '@standin/logstore';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import { AWAY, capturedEntry, MemoryLog } from './memory-log.testing.ts';
import { ReplayKeeper } from './replay-keeper.ts';
import { replayMetrics } from './replay-metrics.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const COUNT = 30;

/** Makes hours pass immediately. Tests await conditions. */
class QuickClock implements Clock {
  readonly slept: number[] = [];
  offsetMs = 0;
  now = (): number => systemClock.now();
  date = (): Date => new Date(Date.now() + this.offsetMs);
  random = (): number => 0.5;
  sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    this.slept.push(ms);
    return systemClock.sleep(Math.min(ms, 1), signal);
  };
}

const entriesOf = (projectUid: string) => Array.from({ length: COUNT }, (_, n) => capturedEntry(projectUid, n));

const untilAborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));

/** Less than the project's setting. */
const RETENTION_DAYS_MAX = 7;

/** Sets up one term of leadership over a source, a log and a target in memory. */
const setUp = ({ withStore = true } = {}) => {
  const source = new MemorySource();
  const objects = new Map<string, ResourceObject>();
  source.put('Account', 'team', {});
  const project = source.put('Project', 'shop', { accountRef: { name: 'team' } });
  const entries = entriesOf(project.metadata.uid);
  const log = new MemoryLog(entries);
  const sent: string[] = [];
  const clock = new QuickClock();
  const target: { answer: (body: string) => number; holds: (body: string) => boolean } = {
    answer: () => 200,
    holds: () => false,
  };
  const egress: Egress = {
    ...createEgress({ policy: { allowPrivate: false, allow: [] } }),
    request: ({ body = new Uint8Array(), signal }: UpstreamRequest) => {
      const text = Buffer.from(body).toString();
      if (target.holds(text)) return untilAborted(signal);
      const status = target.answer(text);
      sent.push(text);
      if (status === 0) return Promise.reject(new EgressError('upstream_unreachable', 'Nobody answers.'));
      return Promise.resolve({
        status,
        statusText: '',
        headers: [],
        body: Readable.from([Buffer.from('ok')]),
        trailers: () => [],
      });
    },
  };
  const store: LogStore | undefined = withStore ? log.store : undefined;
  const lead = async () => {
    const registry = new Registry();
    const keeper: ReplayKeeper = new ReplayKeeper({
      ...{
        source,
        objects,
        store,
        clock,
        registry,
        logger: pino({ level: 'silent' }),
        metrics: replayMetrics(registry),
      },
      translator: { verdict: () => undefined, serviceFault: () => undefined },
      prepareStore: () => Promise.resolve(),
      egress: { gateway: egress, upstream: egress },
      gatewayUrl: 'http://gateway',
      clusterDomain: 'cluster.local',
      retentionDaysMax: RETENTION_DAYS_MAX,
    });
    const listener: SourceListener = {
      put: (object) => {
        objects.set(object.metadata.uid, object);
        keeper.seen(object);
      },
      remove: (object) => {
        objects.delete(object.metadata.uid);
        keeper.forget(object);
      },
      problems: () => undefined,
    };
    await source.start(listener, new AbortController().signal);
    keeper.begin();
    cleanups.push(() => keeper.stop());
    return keeper;
  };
  const replay = (spec: object, name = 'again') =>
    source.put('Replay', name, {
      projectRef: { name: 'shop' },
      target: { kind: 'URL', url: 'http://api.example.com/' },
      ...spec,
    });
  const status = (name = 'again') =>
    (source.object('Replay', name).status ?? {}) as Record<string, unknown> & {
      conditions?: { type: string; reason: string; message: string }[];
    };
  const ended = () => expect.poll(() => status().completedAt, { timeout: 10_000 }).toBeDefined();
  return { source, log, sent, clock, target, entries, lead, replay, status, ended };
};

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const FILTER = { from: '2020-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z' };
const ALL = Array.from({ length: COUNT }, (_, n) => String(n));
const FAST = { filter: FILTER, ratePerSecond: 1_000 };

test('all requests of a filter are sent once; what they answered is counted', async () => {
  const { lead, replay, ended, status, sent, target, source } = setUp();
  target.answer = (body) => (body.endsWith('7') ? 503 : body === '9' ? 0 : 200);
  replay(FAST);
  await lead();
  await ended();
  expect(sent.toSorted((a, b) => Number(a) - Number(b))).toEqual(ALL);
  expect(status()).toMatchObject({
    ...{ phase: 'Failed', planned: COUNT, sent: COUNT, answered: COUNT - 1, failed: 1 },
    byStatus: [
      { status: 0, count: 1 },
      { status: 200, count: COUNT - 4 },
      { status: 503, count: 3 },
    ],
  });
  expect(status().conditions?.find(({ type }) => type === 'Complete')?.message).toBe(
    `Sent ${COUNT} of ${COUNT}: ${COUNT - 4} answered 200, 3 answered 503, 1 without an answer. The first of these: Nobody answers.`,
  );
  await expect.poll(() => source.events).toMatchObject([{ type: 'Warning', reason: 'Failed' }]);
});

test('a log store that goes away is waited for, and nothing is lost or doubled', async () => {
  const { lead, replay, ended, status, sent, log, clock } = setUp();
  let calls = 0;
  log.disturb = () => {
    calls += 1;
    if (calls % 3 !== 0) throw AWAY;
  };
  replay({ ...FAST, order: 'Original' });
  await lead();
  await ended();
  expect(sent).toEqual(ALL);
  expect(new Set(log.results.map(({ requestId }) => requestId)).size).toBe(COUNT);
  const keptForS = log.results.map(({ sentAtUs, expiresAtS }) => expiresAtS - Math.floor(sentAtUs / 1e6));
  expect(new Set(keptForS)).toEqual(new Set([RETENTION_DAYS_MAX * 86_400]));
  expect(status()).toMatchObject({ phase: 'Succeeded', sent: COUNT });
  expect(clock.slept.some((ms) => ms >= 200)).toBe(true);
});

test('the next leader goes on behind what is stored, whatever the status says', async () => {
  const { lead, replay, ended, status, sent, log, source, target } = setUp();
  target.holds = (body) => body === '10';
  replay({ ...FAST, order: 'Original' });
  // Status writes fail, as if this operator were disconnected.
  source.disturb = (call) => {
    if (call === 'writeStatus') throw new Error('the API server is away');
  };
  const first = await lead();
  await expect.poll(() => log.results.length).toBe(10);
  await first.stop();
  expect(status()).toEqual({});
  source.disturb = () => undefined;
  target.holds = () => false;
  await lead();
  await ended();
  expect(sent).toEqual(ALL);
  expect(status()).toMatchObject({ phase: 'Succeeded', sent: COUNT, answered: COUNT });
});

test('no faster than asked', async () => {
  const { lead, replay, ended, clock } = setUp();
  replay({ filter: { ...FILTER, limit: 5 }, ratePerSecond: 2, order: 'Original' });
  await lead();
  await ended();
  // Each of the next four waits for the rest of its half second.
  expect(clock.slept.filter((ms) => ms > 400)).toHaveLength(4);
});

test('at most the limit, the oldest ones', async () => {
  const { lead, replay, ended, sent, status } = setUp();
  replay({ ...FAST, filter: { ...FILTER, limit: 3 }, order: 'Original' });
  await lead();
  await ended();
  expect(sent).toEqual(['0', '1', '2']);
  expect(status()).toMatchObject({ planned: 3, sent: 3 });
});

test('one that is suspended from the start sends nothing until it is told to', async () => {
  const { lead, replay, ended, sent, status } = setUp();
  replay({ ...FAST, state: 'Suspended' });
  await lead();
  await expect.poll(() => status().phase).toBe('Suspended');
  expect(sent).toEqual([]);
  replay(FAST);
  await ended();
  expect(sent).toHaveLength(COUNT);
});

// Prevents: sixteen paused Replays of one team block those of all other teams.
test('a namespace has four at once, paused ones too; the next begins when one ends', async () => {
  const { lead, replay, status } = setUp();
  const names = ['a', 'b', 'c', 'd', 'e'];
  for (const name of names) replay({ ...FAST, state: 'Suspended' }, name);
  await lead();
  const paused = (): number => names.filter((name) => status(name).phase === 'Suspended').length;
  await expect.poll(paused).toBe(4);
  const waiting = names.find((name) => status(name).phase === undefined) ?? '';
  replay(
    { ...FAST, state: 'Cancelled' },
    names.find((name) => name !== waiting),
  );
  await expect.poll(() => status(waiting).phase, { timeout: 10_000 }).toBe('Suspended');
});

test('one that is cancelled before it began sends nothing', async () => {
  const { lead, replay, ended, sent, status } = setUp();
  replay({ ...FAST, state: 'Cancelled' });
  await lead();
  await ended();
  expect([sent.length, status().phase]).toEqual([0, 'Cancelled']);
});

test('without a log store it says so and waits', async () => {
  const { lead, replay, status } = setUp({ withStore: false });
  replay(FAST);
  await lead();
  await expect.poll(() => status().conditions?.find(({ type }) => type === 'Accepted')?.reason).toBe('NoLogStore');
  expect(status().phase).toBe('Pending');
});

test('a project that comes later is waited for', async () => {
  const { lead, replay, status, source, ended } = setUp();
  replay({ ...FAST, projectRef: { name: 'later' } });
  await lead();
  await expect.poll(() => status().conditions?.find(({ type }) => type === 'Accepted')?.reason).toBe('ProjectNotFound');
  source.put('Project', 'later', { accountRef: { name: 'team' } });
  await ended();
  expect(status().conditions?.find(({ type }) => type === 'Accepted')).toMatchObject({ status: 'True' });
});

test('a day after its end it is removed, and not before', async () => {
  const { lead, replay, ended, source, clock } = setUp();
  replay({ requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe' });
  const first = await lead();
  await ended();
  await first.stop();
  clock.offsetMs = DAY_MS - 60_000;
  await (await lead()).stop();
  expect(source.object('Replay', 'again')).toBeDefined();
  clock.offsetMs = DAY_MS + 60_000;
  await lead();
  await expect.poll(() => source.has('Replay', 'again')).toBe(false);
});

test('a status that cannot be written is written later', async () => {
  const { lead, replay, ended, source, status } = setUp();
  let refusals = 3;
  source.disturb = (call) => {
    if (call === 'writeStatus' && refusals-- > 0) throw new Error('the API server is away');
  };
  replay(FAST);
  await lead();
  await ended();
  expect(status()).toMatchObject({ phase: 'Succeeded' });
});
