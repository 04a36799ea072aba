import { LIMITS } from '@standin/contract';
import { beforeEach, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { ClaimRecords, planSweep, recordName, shardName, type ClaimRecord } from './claim-records.ts';
import { MemoryClaims } from './memory-claims.testing.ts';

const KEY = Buffer.alloc(32, 1);
const CLAIM = 'uri shop-0123456789ab';
const A = { claim: CLAIM, uid: 'uid-a', namespace: 'a' };
const B = { claim: CLAIM, uid: 'uid-b', namespace: 'b' };
const NOW = Date.UTC(2026, 5, 1);

let store: MemoryClaims;
const read = () => ClaimRecords.read(store, KEY);
beforeEach(() => {
  store = new MemoryClaims();
});

it('has a name that depends on the installation key and shows nothing of the claim', () => {
  const name = recordName(KEY, CLAIM);
  expect(name).toMatch(/^[0-9a-f]{32}$/);
  expect(recordName(Buffer.alloc(32, 2), CLAIM)).not.toBe(name);
});

it('is spread over all shards', () => {
  const shards = Array.from({ length: 5_000 }, (_, n) => shardName(recordName(KEY, `uri ${n}`)));
  expect(new Set(shards).size).toBe(LIMITS.claimShards);
});

const claims = Array.from({ length: 200 }, (_, index) => `uri ${index}`);

test.each<[string, (records: ClaimRecords) => Promise<unknown>]>([
  ['the names of many claims are computed', (records) => records.names(claims)],
  [
    'many shards are written',
    (records) =>
      records.record(
        claims.map((claim) => ({ ...A, claim })),
        NOW,
      ),
  ],
])('other work has its turn while %s', async (_what, work) => {
  const records = await read();
  let now = 0;
  // Each look at the clock is the end of a step that took this long.
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 30));
  onTestFinished(() => clock.mockRestore());
  let turns = 0;
  let isDone = false;
  const take = (): void => {
    turns += 1;
    if (!isDone) setImmediate(take);
  };
  setImmediate(take);
  await work(records);
  isDone = true;
  expect(turns).toBeGreaterThan(LIMITS.claimShards / 4);
});

test('the names of claims are computed together as they are one by one', async () => {
  const names = await (await read()).names(claims);
  expect(claims.map((claim) => names.get(claim))).toEqual(claims.map((claim) => recordName(KEY, claim)));
});

test('a recorded claim is read by the next leader', async () => {
  const records = await read();
  expect(records.get(CLAIM)).toBeUndefined();
  expect(await records.record([A], NOW)).toBe(true);
  const record = { uid: 'uid-a', namespace: 'a', absentSince: undefined };
  expect([records.get(CLAIM), (await read()).get(CLAIM)]).toEqual([record, record]);
});

test('of two leaders that record the same claim, one gets it, and the other reads who has it', async () => {
  const [former, current] = [await read(), await read()];
  expect(await Promise.all([current.record([B], NOW), former.record([A], NOW)])).toEqual([true, false]);
  expect(former.get(CLAIM)).toMatchObject({ uid: 'uid-b' });
  expect(store.texts()).toEqual(['uid-b b']);
});

test('the first object of a namespace that lost a claim to another one is kept until it lapses', async () => {
  const records = await read();
  for (const uid of ['first', 'second', 'third']) await records.record([{ ...A, uid }], NOW);
  expect(store.texts()).toEqual(['third a - first 2026-06-01T00:00:00.000Z']);
  const record = { uid: 'third', namespace: 'a', absentSince: undefined, former: 'first', formerSince: NOW };
  const next = await read();
  expect(next.get(CLAIM)).toEqual(record);
  const sweepAt = (now: number) => [...planSweep(next.entries(), new Set([records.recordName(CLAIM)]), now).values()];
  expect(sweepAt(NOW + LIMITS.claimKeptMs - 1)).toEqual([]);
  expect(sweepAt(NOW + LIMITS.claimKeptMs)).toEqual([{ uid: 'third', namespace: 'a', absentSince: undefined }]);
  await next.record([B], NOW);
  expect(store.texts()).toEqual(['uid-b b']);
});

test('a shard that was deleted is written again with the next change', async () => {
  const records = await read();
  await records.record([A], NOW);
  store.shards.clear();
  const other = { ...B, claim: sameShardAs(CLAIM) };
  expect(await records.record([other], NOW)).toBe(false);
  expect(await records.record([other], NOW)).toBe(true);
  expect(store.texts().toSorted()).toEqual(['uid-a a', 'uid-b b']);
});

test('an entry that someone edited counts as no record', async () => {
  await (await read()).record([A], NOW);
  const [[shard, { version }] = ['', { version: '' }]] = store.shards;
  store.shards.set(shard, { version, entries: new Map([[recordName(KEY, CLAIM), 'nonsense']]) });
  expect((await read()).get(CLAIM)).toBeUndefined();
});

const sameShardAs = (claim: string): string => {
  const shard = shardName(recordName(KEY, claim));
  const found = Array.from({ length: 10_000 }, (_, n) => `uri ${n}`).find((other) => {
    return shardName(recordName(KEY, other)) === shard;
  });
  return found ?? '';
};

describe('a sweep', () => {
  const namedRecords = (count: number, more: Partial<ClaimRecord> = {}) =>
    Array.from({ length: count }, (_, n): [string, ClaimRecord] => [
      `r${n}`,
      { uid: `uid-${n}`, namespace: 'a', absentSince: undefined, ...more },
    ]);

  it('marks a record whose object does not claim it, and removes the mark when the object does', () => {
    const [[name, record] = ['', { uid: '', namespace: '', absentSince: undefined }]] = namedRecords(1);
    expect([...planSweep([[name, record]], new Set(), NOW)]).toEqual([[name, { ...record, absentSince: NOW }]]);
    const marked = { ...record, absentSince: NOW };
    expect([...planSweep([[name, marked]], new Set(), NOW + 1)]).toEqual([]);
    expect([...planSweep([[name, marked]], new Set([name]), NOW + 1)]).toEqual([[name, record]]);
  });

  it('removes a record after 30 days, but never one that is claimed', () => {
    const records = namedRecords(1, { absentSince: NOW - 30 * 86_400_000 });
    expect([...planSweep(records, new Set(), NOW - 1)]).toEqual([]);
    expect([...planSweep(records, new Set(), NOW)]).toEqual([['r0', undefined]]);
    expect(planSweep(records, new Set(['r0']), NOW).get('r0')).toMatchObject({ absentSince: undefined });
  });

  it('removes no record that was just seen absent, however many there are', () => {
    const changes = planSweep(namedRecords(3_000), new Set(), NOW);
    expect([changes.size, [...changes.values()].includes(undefined)]).toEqual([3_000, false]);
  });

  it('removes the oldest marked records of a namespace beyond 1,000, and no others', () => {
    const marked = namedRecords(1_002).map(([name, record], n): [string, ClaimRecord] => {
      return [name, { ...record, absentSince: NOW - n }];
    });
    const others = namedRecords(3, { namespace: 'b', absentSince: NOW - 10_000 }).map(([name, record]) => {
      return [`b${name}`, record] as const;
    });
    expect([...planSweep([...marked, ...others], new Set(), NOW).keys()]).toEqual(['r1000', 'r1001']);
  });
});
