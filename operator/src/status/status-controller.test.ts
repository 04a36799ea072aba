import { periodEndMs, type ResourceObject } from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, expect, test, vi } from 'vitest';
import { operatorMetrics } from '../metrics.ts';
import { MemorySource } from '../memory-source.testing.ts';
import { Translator } from '../translate/index.ts';
import { StatusController } from './status-controller.ts';

const WITHIN = { timeout: 15_000 };
let controller: StatusController | undefined;
afterEach(() => controller?.stop());

test('an account without traffic starts the new month without usage, and without the old month’s condition', async () => {
  const source = new MemorySource();
  source.put('Account', 'a', { plan: 'Free', monthlyQuota: 100 });
  const objects = new Map<string, ResourceObject>();
  const translator = new Translator({
    ...{ gatewayUrl: 'http://gateway', clusterDomain: 'cluster.local', checkUpstream: () => undefined },
    quotaByPlan: { Free: undefined, Pro: undefined },
    requestsPerSecondByPlan: { Free: undefined, Pro: undefined },
    retentionDaysMax: 365,
  });
  const read = (): ResourceObject => {
    const account = source.object('Account', 'a');
    objects.set(account.metadata.uid, account);
    return account;
  };
  translator.put(read());
  translator.flush();
  const startedAt = performance.now();
  const beginning = periodEndMs('2026-11') - 500;
  let usage: { period: string; accepted: number } | undefined = { period: '2026-11', accepted: 100 };
  const registry = new Registry();
  controller = new StatusController({
    ...{ source, objects, translator, registry, logger: pino({ level: 'silent' }) },
    metrics: operatorMetrics(registry, { objects: () => [], leading: () => undefined }),
    key: () => undefined,
    audited: () => undefined,
    lastRequestAt: () => undefined,
    usage: () => usage && { ...usage, granted: 100, quota: 100, isExhausted: false },
    gateways: { programmed: () => undefined, floor: undefined },
    since: () => undefined,
    onStatus: undefined,
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
