import { periodEndMs, type ResourceObject } from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { operatorMetrics } from '../metrics.ts';
import { MemorySource } from '../memory-source.testing.ts';
import { ObjectCache } from '../object-cache.ts';
import { Translator } from '../translate/index.ts';
import { StatusController } from './status-controller.ts';

const WITHIN = { timeout: 15_000 };
let controller: StatusController | undefined;
afterEach(() => controller?.stop());

/** For a controller of one Account, with a function that reads the Account again. */
const testOptions = (source: MemorySource) => {
  const cache = new ObjectCache();
  const translator = new Translator({
    gatewayUrl: 'http://gateway',
    clusterDomain: 'cluster.local',
    checkUpstream: () => undefined,
    quotaByPlan: { Free: undefined, Pro: undefined },
    requestsPerSecondByPlan: { Free: undefined, Pro: undefined },
    retentionDaysMax: 365,
    retentionDaysMaxByPlan: { Free: undefined, Pro: undefined },
  });
  const read = (): ResourceObject => {
    const account = source.object('Account', 'a');
    cache.put(account);
    return account;
  };
  translator.put(read());
  translator.flush();
  const registry = new Registry();
  const options = {
    objects: source.objects,
    events: source.events,
    cache,
    translator,
    registry,
    logger: pino({ level: 'silent' }),
    metrics: operatorMetrics(registry, { objects: () => [], leading: () => undefined }),
    key: () => undefined,
    usage: () => undefined,
    audited: () => undefined,
    lastRequestAt: () => undefined,
    gateways: { programmed: () => undefined, withdrawn: () => undefined, floor: undefined },
    since: () => undefined,
    onStatus: undefined,
  };
  return { options, read };
};

test('the log line of a failed write has the kind, namespace and name of the object', async () => {
  const source = new MemorySource();
  source.put('Account', 'a', { plan: 'Free' });
  source.disturb = () => Promise.reject(new Error('refused'));
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(line) });
  controller = new StatusController({ ...testOptions(source).options, logger });
  controller.start();
  await vi.waitFor(() => expect(lines.length).toBeGreaterThan(0), WITHIN);
  const { namespace } = source.object('Account', 'a').metadata;
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ controller: 'status', kind: 'Account', namespace, name: 'a' });
});

test('an account without traffic starts the new month without usage, and without the old month’s condition', async () => {
  const source = new MemorySource();
  source.put('Account', 'a', { plan: 'Free', monthlyQuota: 100 });
  const { options, read } = testOptions(source);
  const startedAt = performance.now();
  const beginning = periodEndMs('2026-11') - 500;
  let usage: { period: string; accepted: number } | undefined = { period: '2026-11', accepted: 100 };
  controller = new StatusController({
    ...options,
    usage: () => usage && { ...usage, granted: 100, quota: 100, isExhausted: false },
    clock: () => new Date(beginning + performance.now() - startedAt),
  });
  const shown = () => {
    const { status } = read();
    const condition = conditionsIn(status).find(({ type }) => type === 'QuotaAvailable');
    return [(status as { usage?: unknown } | undefined)?.usage, condition?.reason];
  };
  controller.start();
  const usedUp = [{ period: '2026-11', accepted: 100, quota: 100 }, 'QuotaUsedUp'];
  await vi.waitFor(() => expect(shown()).toEqual(usedUp), WITHIN);
  // As after a leader change, there are no requests for permits and no reports.
  usage = undefined;
  const begun = [{ period: '2026-12', accepted: 0, quota: 100 }, 'QuotaAvailable'];
  await vi.waitFor(() => expect(shown()).toEqual(begun), WITHIN);
});

test('a usage is written when it changes, but not more often than every ten seconds, and the last one is not lost', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const source = new MemorySource();
  source.put('Account', 'a', { plan: 'Free', monthlyQuota: 100 });
  const { options, read } = testOptions(source);
  let accepted = 0;
  const usage = () => ({ period: '2026-11', accepted, granted: 0, quota: 100, isExhausted: false });
  const changes = new StatusController({ ...options, usage, clock: () => new Date('2026-11-20T00:00:00Z') });
  controller = changes;
  const pass = async (seconds: number, now = accepted): Promise<unknown> => {
    if (now !== accepted) {
      accepted = now;
      changes.usageChanged(read().metadata.uid);
    }
    await vi.advanceTimersByTimeAsync(seconds * 1_000);
    return (read().status as { usage?: { accepted?: number } }).usage?.accepted;
  };
  changes.start();
  await pass(60, 1);
  expect([await pass(1, 2), await pass(2, 3), await pass(6.8, 4)]).toEqual([2, 2, 2]);
  expect([await pass(0.4), await pass(2, 5), await pass(60)]).toEqual([4, 4, 5]);
  expect(await pass(0.1, 6)).toBe(6);
});

test('the pending gateways of many objects are refreshed in parts, and of all objects after a change', async () => {
  const source = new MemorySource();
  const names = Array.from({ length: 3_000 }, (_, index) => `account-${index}`);
  source.put('Account', 'a', { plan: 'Free' });
  const { options } = testOptions(source);
  for (const name of names) {
    const account = source.put('Account', name, { plan: 'Free' });
    options.cache.put(account);
    options.translator.put(account);
  }
  options.translator.flush();
  const looked: string[] = [];
  const programmed = (key: string) => {
    looked.push(key);
    return { kind: 'waiting', gateways: ['gateway-1'], known: 3, unheard: false } as const;
  };
  controller = new StatusController({
    ...options,
    gateways: { programmed, withdrawn: programmed, floor: 0 },
    since: () => 1,
  });
  controller.start();
  await vi.waitFor(() => expect(new Set(looked).size).toBe(3_001), WITHIN);
  await vi.waitFor(() => expect(source.statusWrites.length).toBeGreaterThanOrEqual(3_001), WITHIN);
  looked.length = 0;
  controller.gatewaysChanged([]);
  await vi.waitFor(() => expect(new Set(looked).size).toBe(2_000), WITHIN);
  // The objects that were refreshed first are refreshed once more.
  controller.gatewaysChanged([]);
  await vi.waitFor(() => expect(new Set(looked).size).toBe(3_001), WITHIN);
  await vi.waitFor(() => expect(looked.length).toBeGreaterThanOrEqual(6_002), WITHIN);
});
