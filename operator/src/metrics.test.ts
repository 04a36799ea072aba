import { LIMITS } from '@standin/contract';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { MemorySource } from './memory-source.testing.ts';
import { operatorMetrics } from './metrics.ts';

const usage = () => ({ period: '2026-11', accepted: 45, granted: 90, quota: 100, isExhausted: undefined });
const leader = {
  log: { revision: { epoch: 1, number: 1 } },
  gateways: { known: [] },
  volumes: undefined,
  quota: { usage },
  expectations: { openCount: 0 },
};

test('standin_quota_accepted does not fall below the number in this month’s status while gateways report to a new leader', async () => {
  const accepted = async (period: string): Promise<string | undefined> => {
    const status = { usage: { period, accepted: 85, quota: 100 } };
    const account = new MemorySource().put('Account', 'team', {}, status);
    const registry = new Registry();
    operatorMetrics(registry, { objects: () => [account], leading: () => leader });
    return /^standin_quota_accepted\{.*\} (\d+)$/m.exec(await registry.metrics())?.[1];
  };
  expect(await accepted('2026-11')).toBe('85');
  expect(await accepted('2026-10')).toBe('45');
});

test('the Accounts of one namespace do not take all series of quotas', async () => {
  const source = new MemorySource();
  const { accountSeriesMax } = LIMITS;
  const busy = Array.from({ length: accountSeriesMax + 1 }, (_, index) => source.put('Account', `busy-${index}`, {}));
  const other = source.put('Account', 'other', {});
  const objects = [...busy, { ...other, metadata: { ...other.metadata, namespace: 'team-b' } }];
  const registry = new Registry();
  operatorMetrics(registry, { objects: () => objects, leading: () => leader });
  const text = await registry.metrics();
  expect([...text.matchAll(/^standin_quota_limit\{/gm)]).toHaveLength(accountSeriesMax);
  expect(text).toContain('standin_quota_limit{exported_namespace="team-b",account="other"} 100');
});
