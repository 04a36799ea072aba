import { Readable } from 'node:stream';
import { createEgress, EgressError, type Egress, type UpstreamRequest } from '@standin/egress';
import { systemClock, type Clock } from '@standin/kube';
import type { LogStore } from '@standin/logstore';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterEach, expect } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import { capturedEntry, MemoryLog } from './memory-log.testing.ts';
import { ReplayController } from './replay-controller.ts';
import { replayMetrics } from './replay-metrics.ts';

export const COUNT = 30;

/** A clock that lets hours pass immediately. Tests await conditions instead of times. */
class QuickClock implements Clock {
  readonly slept: number[] = [];
  offsetMs = 0;
  /** The total duration of all sleeps, plus the time that tests add. */
  passedMs = 0;
  now = (): number => systemClock.now() + this.passedMs;
  date = (): Date => new Date(Date.now() + this.offsetMs);
  random = (): number => 0.5;
  sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    this.slept.push(ms);
    this.passedMs += ms;
    return systemClock.sleep(Math.min(ms, 1), signal);
  };
}

const capturedEntries = (projectUid: string) => Array.from({ length: COUNT }, (_, n) => capturedEntry(projectUid, n));

const untilAborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));

/** The installation's maximum, which is less than the project's setting. */
export const RETENTION_DAYS_MAX = 7;

/** Sets up one leader's term with an in-memory source, log and target. */
export const setUp = ({ withStore = true } = {}) => {
  const source = new MemorySource();
  source.put('Account', 'team', {});
  const project = source.put('Project', 'shop', { accountRef: { name: 'team' } });
  const entries = capturedEntries(project.metadata.uid);
  const log = new MemoryLog(entries);
  const sent: string[] = [];
  /** The paths of the targets' URLs, in the order of `sent`. */
  const sentTo: string[] = [];
  const clock = new QuickClock();
  const target: { answer: (body: string) => number | Promise<number>; holds: (body: string) => boolean } = {
    answer: () => 200,
    holds: () => false,
  };
  const egress: Egress = {
    ...createEgress({ policy: { allowPrivate: false, allow: [] } }),
    request: async ({ url, body = new Uint8Array(), signal }: UpstreamRequest) => {
      const text = Buffer.from(body).toString();
      if (target.holds(text)) return untilAborted(signal);
      const answer = target.answer(text);
      sent.push(text);
      sentTo.push(new URL(url).pathname);
      const status = await answer;
      if (status === 0) throw new EgressError('upstream_unreachable', 'No response from the target.');
      return {
        status,
        statusText: '',
        headers: [],
        body: Readable.from([Buffer.from('ok')]),
        trailers: () => [],
      };
    },
  };
  /** The rest of the leader's term. */
  const term = { remainingMs: Infinity };
  const store: LogStore | undefined = withStore ? log.store : undefined;
  const lead = async () => {
    const registry = new Registry();
    const controller = new ReplayController({
      objects: source.objects,
      secrets: source.secrets,
      events: source.events,
      cache: source.cache,
      store,
      clock,
      registry,
      metrics: replayMetrics(registry),
      logger: pino({ level: 'silent' }),
      translator: {
        verdict: () => undefined,
        serviceFault: () => undefined,
        parentUid: () => undefined,
        published: () => undefined,
      },
      secretValue: () => undefined,
      prepareStore: () => Promise.resolve(),
      remainingMs: () => term.remainingMs,
      egress: { gateway: egress, upstream: egress },
      gatewayUrl: 'http://gateway',
      clusterDomain: 'cluster.local',
      retentionDaysMax: 365,
      retentionDaysMaxByPlan: { Free: RETENTION_DAYS_MAX, Pro: undefined },
    });
    await source.follow(() => controller);
    controller.start();
    cleanups.push(() => controller.stop());
    return controller;
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
  const ended = (name = 'again') => expect.poll(() => status(name).completedAt, { timeout: 10_000 }).toBeDefined();
  return { source, log, sent, sentTo, clock, target, term, entries, lead, replay, status, ended };
};

/** Reports the Replay as removed and then as it is now, as when its namespace loses and regains its label. */
export const reselect = ({ source }: Pick<ReturnType<typeof setUp>, 'source'>, controller: ReplayController): void => {
  const object = source.object('Replay', 'again');
  source.cache.remove(object);
  controller.removed(object);
  source.cache.put(object);
  controller.changed(object);
};

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

export const FILTER = { from: '2020-01-01T00:00:00Z', to: '2099-01-01T00:00:00Z' };
export const ALL = Array.from({ length: COUNT }, (_, n) => String(n));
export const FAST = { filter: FILTER, ratePerSecond: 1_000 };
