import { GROUP_VERSION, type ResourceObject } from '@standin/contract';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { MemoryLedgers } from './memory-ledgers.testing.ts';
import { QuotaAudit } from './quota-audit.ts';

const PERIOD = '2026-11';
const OWN: ResourceObject = {
  apiVersion: GROUP_VERSION,
  kind: 'Account',
  spec: {},
  metadata: {
    namespace: 'team-a',
    name: 'own',
    uid: 'uid',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '',
  },
};
const block = { id: 'b', gateway: 'a', instance: 'a', serial: 1, permits: 10, grantedAtMs: 0 };

const granted15 = async (): Promise<MemoryLedgers> => {
  const store = new MemoryLedgers();
  await store.write('uid', { period: PERIOD, used: 5, blocks: [block] }, undefined);
  return store;
};

interface Options {
  readonly store: MemoryLedgers;
  /** Called while the log is read. */
  readonly onRead: () => Promise<unknown>;
}

const runAudit = async (spent: { requests: number; permits: number }, options?: Options) => {
  const store = options?.store ?? (await granted15());
  const registry = new Registry();
  const lines: string[] = [];
  const changed: string[] = [];
  const audit = new QuotaAudit({
    store,
    registry,
    cache: new Map([['uid', OWN]]),
    onChange: (uid: string) => void changed.push(uid),
    logStore: {
      spentPermits: async () => {
        await options?.onRead();
        return spent;
      },
    },
    logger: pino({ level: 'error' }, { write: (line: string) => void lines.push(line) }),
  });
  await audit.run(new AbortController().signal);
  const [metric] = await registry.getMetricsAsJSON();
  return { lines, mismatches: metric?.values[0]?.value, changed, audit };
};

test.each([
  ['as many requests as granted matches the ledger', { requests: 15, permits: 15 }, 0],
  ['fewer requests than granted matches the ledger', { requests: 3, permits: 3 }, 0],
  ['more requests than granted is a mismatch', { requests: 16, permits: 16 }, 1],
  ['two requests for one permit is a mismatch', { requests: 8, permits: 7 }, 1],
])('a log with %s', async (_name, spent, wanted) => {
  const { lines, mismatches, audit, changed } = await runAudit(spent);
  expect([mismatches, lines.length]).toEqual([wanted, wanted]);
  expect(changed).toEqual(['uid']);
  const { mismatch } = audit.audited('uid') ?? {};
  expect(mismatch?.message).toEqual(
    wanted === 0
      ? undefined
      : expect.stringContaining(
          `The log contains ${spent.requests} requests for ${PERIOD} with ${spent.permits} permits, but 15 permits were granted`,
        ),
  );
  for (const line of lines)
    expect(JSON.parse(line)).toMatchObject({ namespace: 'team-a', name: 'own', granted: 15, ...spent });
});

test('an account whose requests cannot be counted keeps its last result, and others get theirs', async () => {
  const store = await granted15();
  const other = { ...OWN, metadata: { ...OWN.metadata, namespace: 'team-b', uid: 'other' } };
  const audited = { period: PERIOD, used: 5, blocks: [] };
  let fails = false;
  const audit = new QuotaAudit({
    store,
    registry: new Registry(),
    cache: new Map([
      ['uid', OWN],
      ['other', other],
    ]),
    onChange: () => undefined,
    logStore: {
      spentPermits: (uid) =>
        fails && uid === 'uid'
          ? Promise.reject(new Error('the query took too long'))
          : Promise.resolve({ requests: 16, permits: 16 }),
    },
    logger: pino({ level: 'silent' }),
  });
  const { signal } = new AbortController();
  await audit.run(signal);
  fails = true;
  await store.write('other', audited, undefined);
  await expect(audit.run(signal)).rejects.toThrow('the query took too long');
  expect(['uid', 'other'].map((uid) => audit.audited(uid)?.mismatch?.reason)).toEqual([
    'QuotaMismatch',
    'QuotaMismatch',
  ]);
});

test('a month that begins during the audit is not a mismatch', async () => {
  const store = new MemoryLedgers();
  const version = await store.write('uid', { period: PERIOD, used: 5, blocks: [] }, undefined);
  const { lines, mismatches } = await runAudit(
    { requests: 9, permits: 9 },
    {
      store,
      onRead: () => store.write('uid', { period: '2026-12', used: 0, blocks: [] }, version),
    },
  );
  expect([mismatches, lines]).toEqual([0, []]);
});
