import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PermitAnswer, PermitRequest, ResourceObject } from '@standin/contract';
import type { PermitFilter } from '@standin/logstore';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ledgerFiles } from './ledger-store.ts';
import { committed, newLedger } from './ledger.ts';
import { MemoryLedgers } from './memory-ledgers.testing.ts';
import { QuotaController, type QuotaControllerOptions } from './quota-controller.ts';

let store: MemoryLedgers;
let limit: number | undefined;
let now: number;
let recalled: string[];
let changed: string[];
let connected: Set<string>;
const controllers: QuotaController[] = [];
const WITHIN = { timeout: 15_000 };

const newController = (more: Partial<QuotaControllerOptions> = {}): QuotaController => {
  const controller = new QuotaController({
    store,
    cache: new Map(),
    logger: pino({ level: 'silent' }),
    limit: () => limit,
    gatewayCount: () => 1,
    clock: () => now,
    isConnected: (_gateway, instance) => connected.has(instance),
    recall: (account) => recalled.push(account),
    countPermits: undefined,
    onUsage: (account) => changed.push(account),
    ...more,
  });
  controllers.push(controller);
  return controller;
};

const request = (instance: string, serial: number, more: Partial<PermitRequest> = {}): PermitRequest => ({
  gateway: instance,
  instance,
  account: 'account-1',
  serial,
  want: 10,
  held: [],
  closed: [],
  ...more,
});

const grantedBlock = (answer: PermitAnswer): string => {
  if (answer.kind !== 'granted') throw new Error(`the response is ${answer.kind}`);
  return answer.block;
};

beforeEach(() => {
  store = new MemoryLedgers();
  limit = 100;
  now = Date.UTC(2026, 10, 21);
  recalled = [];
  changed = [];
  connected = new Set(['a', 'b', 'c']);
});
afterEach(async () => {
  for (const controller of controllers.splice(0)) await controller.stop();
});

test('a grant is written to the ledger before the response is sent', async () => {
  const controller = newController();
  const written = Promise.withResolvers<undefined>();
  store.disturb = (when) => (when === 'after' ? written.promise : undefined);
  const answered = vi.fn();
  const asked = controller.request(request('a', 1)).then(answered);
  await vi.waitFor(() => expect(store.writes).toHaveLength(1), WITHIN);
  expect(answered).not.toHaveBeenCalled();
  written.resolve(undefined);
  await asked;
  const [block] = store.writes[0]?.blocks ?? [];
  expect(answered).toHaveBeenCalledWith({ kind: 'granted', block: block?.id, period: '2026-11', permits: 10 });
});

test('concurrent requests share a write', async () => {
  const controller = newController();
  const answers = await Promise.all(['a', 'b', 'c'].map((instance) => controller.request(request(instance, 1))));
  expect(new Set(answers.map(grantedBlock)).size).toBe(3);
  expect(store.writes).toHaveLength(1);
});

test('an account without a quota has no ledger, and a quota of 0 grants nothing', async () => {
  limit = undefined;
  const controller = newController();
  expect(await controller.request(request('a', 1))).toEqual({ kind: 'no_quota' });
  limit = 0;
  expect(await controller.request(request('a', 2))).toEqual({
    kind: 'exhausted',
    period: '2026-11',
    limit: 0,
    used: 0,
  });
  expect(store.writes).toEqual([]);
});

describe('when the ledger cannot be written', () => {
  test('no permits are granted, and permits that may have been written count as granted', async () => {
    const controller = newController();
    store.disturb = (when) => {
      if (when === 'after') throw new Error('the response was lost');
    };
    await expect(controller.request(request('a', 1))).rejects.toThrow('the response was lost');
    store.disturb = () => undefined;
    const answer = await controller.request(request('b', 1, { want: 1_000 }));
    // Both attempts by `a` are still in the ledger, which leaves 100 − 20 permits. This grant is half of these permits.
    expect(answer).toMatchObject({ permits: 40 });
    // `a` did not receive its blocks, so it omits them from its request.
    await controller.request(request('a', 2, { want: 0 }));
    expect(committed(store.writes.at(-1) ?? newLedger(''))).toBe(40);
  });

  test('a leader notices another leader, and grants only the permits that are left', async () => {
    const old = newController();
    await old.request(request('a', 1, { want: 50 }));
    await newController().request(request('b', 1, { want: 25 }));
    const answer = await old.request(request('c', 1, { want: 50 }));
    expect(answer).toMatchObject({ kind: 'granted', permits: 12 });
    expect(committed(store.writes.at(-1) ?? newLedger(''))).toBe(87);
  });
});

describe('when all permits are granted', () => {
  const exhaust = async (controller: QuotaController, instance: string): Promise<string[]> => {
    const blocks: string[] = [];
    for (let serial = 1; committed(store.writes.at(-1) ?? newLedger('')) < (limit ?? 0); serial++) {
      blocks.push(grantedBlock(await controller.request(request(instance, serial, { want: 100, held: blocks }))));
    }
    return blocks;
  };

  test('permits are recalled from other gateways and granted to the gateway that is waiting', async () => {
    const controller = newController();
    const held = await exhaust(controller, 'a');
    const waiting = controller.request(request('b', 1));
    await vi.waitFor(() => expect(recalled).toEqual(['account-1']), WITHIN);
    const closed = held.map((block) => ({ block, used: 1 }));
    expect(await controller.request(request('a', 100, { want: 0, closed }))).toEqual({ kind: 'noted' });
    expect(await waiting).toMatchObject({ kind: 'granted', permits: 10 });
  });

  test('requests wait only briefly, and not for disconnected gateways', async () => {
    const controller = newController();
    await exhaust(controller, 'a');
    const exhausted = { kind: 'exhausted', period: '2026-11', limit: 100, used: 100 };
    expect(await controller.request(request('b', 1))).toEqual(exhausted);
    connected.delete('a');
    recalled = [];
    expect(await controller.request(request('b', 2))).toEqual(exhausted);
    expect(recalled).toEqual([]);
  });

  test('requests that wait are answered when the account is deleted', async () => {
    const controller = newController();
    await exhaust(controller, 'a');
    const waiting = controller.request(request('b', 1));
    await vi.waitFor(() => expect(recalled).toEqual(['account-1']), WITHIN);
    limit = undefined;
    controller.removed({ kind: 'Account', metadata: { uid: 'account-1' } } as ResourceObject);
    expect(await waiting).toEqual({ kind: 'no_quota' });
  });

  test('a higher quota or a new month makes permits available, but a lower quota does not', async () => {
    const controller = newController();
    await exhaust(controller, 'a');
    connected.clear();
    limit = 50;
    expect(await controller.request(request('b', 1))).toMatchObject({ kind: 'exhausted', limit: 50, used: 100 });
    limit = 110;
    expect(await controller.request(request('b', 2))).toMatchObject({ kind: 'granted', permits: 5, period: '2026-11' });
    now = Date.UTC(2026, 11, 1);
    expect(await controller.request(request('b', 3))).toMatchObject({
      kind: 'granted',
      permits: 11,
      period: '2026-12',
    });
    // Setting the clock back does not restart a month.
    now = Date.UTC(2026, 10, 30, 23);
    expect(await newController().request(request('c', 1))).toMatchObject({ kind: 'granted', period: '2026-12' });
  });
});

describe('the usage', () => {
  const report = (controller: QuotaController, block: string, used: number): void => {
    const accounts = [{ account: 'account-1', blocks: [{ block, used }] }];
    controller.report({ gateway: 'a', instance: 'a', accounts });
  };

  test('is the sum of closed blocks and reported open ones, in the current month', async () => {
    const controller = newController();
    expect(controller.usage('account-1')).toBeUndefined();
    const first = grantedBlock(await controller.request(request('a', 1)));
    const usage = { period: '2026-11', accepted: 0, granted: 10, quota: 100, isExhausted: false };
    expect(controller.usage('account-1')).toEqual(usage);
    report(controller, first, 4);
    expect(controller.usage('account-1')).toEqual({ ...usage, accepted: 4 });
    await controller.request(request('a', 2, { want: 0, closed: [{ block: first, used: 6 }] }));
    report(controller, first, 5);
    expect(controller.usage('account-1')).toEqual({ ...usage, accepted: 6, granted: 6 });
    expect(changed.length).toBeGreaterThan(2);
    now = Date.UTC(2026, 11, 1);
    expect(controller.usage('account-1')).toEqual({ ...usage, granted: 0, period: '2026-12' });
    limit = undefined;
    expect(controller.usage('account-1')).toBeUndefined();
  });

  test('is available to a new leader when a gateway reports', async () => {
    const block = grantedBlock(await newController().request(request('a', 1)));
    const next = newController();
    report(next, block, 7);
    await vi.waitFor(() => expect(next.usage('account-1')).toMatchObject({ accepted: 7 }), WITHIN);
    expect(next.usage('account-1')?.isExhausted).toBeUndefined();
    expect(store.writes).toHaveLength(1);
  });

  test('shows whether a gateway was refused permits, until the quota changes or permits are given back', async () => {
    limit = 1;
    const controller = newController();
    const block = grantedBlock(await controller.request(request('a', 1)));
    connected.clear();
    await controller.request(request('b', 1));
    expect(controller.usage('account-1')).toMatchObject({ isExhausted: true });
    limit = 2;
    expect(controller.usage('account-1')).toMatchObject({ isExhausted: false });
    limit = 1;
    await controller.request(request('a', 2, { want: 0, closed: [{ block, used: 0 }] }));
    await controller.request(request('b', 2));
    expect(controller.usage('account-1')).toMatchObject({ isExhausted: false });
  });
});

describe('when many accounts of a namespace request permits', () => {
  const MANY = 1_000;
  const cache = new Map(
    [...Array.from({ length: MANY }, (_, index) => `many-${index}`), 'other'].map((uid) => {
      const metadata = { uid, name: uid, namespace: uid.split('-', 1)[0] };
      return [uid, { kind: 'Account', metadata } as ResourceObject] as const;
    }),
  );
  let running: number;
  let runningMax: number;
  /** The outcomes of one request for each account of the namespace `many`. */
  const requestMany = (controller: QuotaController) =>
    Promise.allSettled(
      Array.from({ length: MANY }, (_, index) => controller.request(request('a', 1, { account: `many-${index}` }))),
    );
  beforeEach(() => {
    running = 0;
    runningMax = 0;
    store.disturb = async (when) => {
      if (when === 'after') running -= 1;
      else {
        running += 1;
        runningMax = Math.max(runningMax, running);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    };
  });

  test('an account of another namespace is granted permits after a few writes', async () => {
    const controller = newController({ cache });
    const many = requestMany(controller);
    expect(await controller.request(request('b', 1, { account: 'other' }))).toMatchObject({ kind: 'granted' });
    expect(store.writes.length).toBeLessThan(20);
    expect(new Set((await many).map(({ status }) => status))).toEqual(new Set(['fulfilled']));
    expect(store.ledgers.size).toBe(MANY + 1);
  });

  test('the namespace has at most half of the concurrent writes', async () => {
    await requestMany(newController({ cache }));
    expect(runningMax).toBe(4);
  });

  test('requests for an account that waits for its turn share a write', async () => {
    const controller = newController({ cache });
    const many = requestMany(controller);
    await new Promise(setImmediate);
    const last = `many-${MANY - 1}`;
    const [next, repeated] = await Promise.all([
      controller.request(request('b', 1, { account: last })),
      controller.request(request('c', 1, { account: last })),
    ]);
    expect(store.ledgers.get(last)?.ledger.blocks.map(({ id }) => id)).toEqual(
      expect.arrayContaining([grantedBlock(next), grantedBlock(repeated)]),
    );
    await many;
    expect(store.writes).toHaveLength(MANY);
  });

  test('permits that are given back are recorded if the account is deleted before its turn', async () => {
    const account = `many-${MANY - 1}`;
    const controller = newController({ cache, limit: (uid) => (uid === account ? limit : 100) });
    const block = grantedBlock(await controller.request(request('b', 1, { account })));
    const many = requestMany(controller);
    const closed = [{ block, used: 3 }];
    const returning = controller.request(request('b', 2, { account, want: 0, closed }));
    limit = undefined;
    controller.removed({ kind: 'Account', metadata: { uid: account } } as ResourceObject);
    expect(await returning).toEqual({ kind: 'no_quota' });
    expect(store.ledgers.get(account)?.ledger).toMatchObject({ used: 3, blocks: [] });
    await many;
  });

  test('accounts that wait for their turn get an error at the end of the term, without a write', async () => {
    const controller = newController({ cache });
    const many = requestMany(controller);
    await new Promise(setImmediate);
    await controller.stop();
    const granted = (await many).filter(({ status }) => status === 'fulfilled');
    expect([granted.length, store.writes.length]).toEqual([4, 4]);
  });
});

test('permits of deleted accounts are recorded in the turns of their namespaces', async () => {
  limit = undefined;
  const controller = newController();
  const remove = (uid: string, namespace: string): void =>
    controller.removed({ kind: 'Account', metadata: { uid, namespace } } as ResourceObject);
  const giveBack = (account: string) =>
    controller.request(request('a', 1, { account, want: 0, closed: [{ block: 'b', used: 1 }] }));
  const read: string[] = [];
  const done = Promise.withResolvers<undefined>();
  vi.spyOn(store, 'read').mockImplementation(async (uid) => {
    read.push(uid);
    await done.promise;
    return undefined;
  });
  const busy = Array.from({ length: 9 }, (_, index) => `busy-${index}`);
  for (const uid of busy) remove(uid, 'busy');
  remove('other', 'other');
  const unknown = Array.from({ length: 9 }, (_, index) => `unknown-${index}`);
  const returning = [...busy, 'other', ...unknown].map(giveBack);
  await new Promise(setImmediate);
  const first = [...read];
  done.resolve(undefined);
  await Promise.all(returning);
  // Of eight workers, one namespace gets at most four. Deleted accounts of unknown namespaces share what one namespace can have.
  expect(first).toEqual(['busy-0', 'busy-1', 'busy-2', 'busy-3', 'other', 'unknown-0', 'unknown-1']);
});

test('a request that begins to wait for recalled permits at the end of the term gets an error', async () => {
  limit = 1;
  await newController().request(request('a', 1));
  const read = Promise.withResolvers<undefined>();
  const readStarted = vi.fn();
  vi.spyOn(store, 'read').mockImplementation(async (uid) => {
    readStarted();
    await read.promise;
    return store.ledgers.get(uid);
  });
  const controller = newController();
  const outcome = Promise.allSettled([controller.request(request('b', 1))]);
  await vi.waitFor(() => expect(readStarted).toHaveBeenCalled(), WITHIN);
  const stopped = controller.stop();
  read.resolve(undefined);
  await stopped;
  expect(await outcome).toMatchObject([{ status: 'rejected' }]);
});

test('pending requests get an error at the end of the term', async () => {
  const controller = newController();
  store.disturb = () => new Promise((resolve) => setTimeout(resolve, 20));
  const asked = controller.request(request('a', 1));
  const late = controller.request(request('b', 1));
  const outcomes = Promise.allSettled([asked, late]);
  await controller.stop();
  expect((await outcomes).map(({ status }) => status)).toContain('rejected');
  await expect(controller.request(request('c', 1))).rejects.toThrow('lost leadership');
});

describe('the permits of a stopped process', () => {
  const counting = (spent: number) => (filter: PermitFilter) => {
    asked.push(filter);
    return Promise.resolve(new Map([[filter.blocks[0] ?? '', spent]]));
  };
  let asked: PermitFilter[];
  /** Grants two blocks to `a`, and lets `a` disappear. */
  const stopHolder = async (controller: QuotaController): Promise<string[]> => {
    asked = [];
    const first = grantedBlock(await controller.request(request('a', 1)));
    const second = grantedBlock(await controller.request(request('a', 2, { held: [first] })));
    await controller.request(request('b', 1));
    connected.delete('a');
    return [first, second];
  };
  const committedNow = (): number => committed(store.writes.at(-1) ?? newLedger(''));

  test('are settled once, according to the requests in the log', async () => {
    const controller = newController({ countPermits: counting(3) });
    const blocks = await stopHolder(controller);
    expect(committedNow()).toBe(30);
    now += 3_600_000;
    await controller.drained('a');
    expect(committedNow()).toBe(3 + 10);
    expect(asked).toEqual([{ accountUid: 'account-1', blocks, since: new Date(now - 49 * 3_600_000) }]);
    await controller.drained('a');
    expect([asked.length, committedNow()]).toEqual([1, 13]);
  });

  test.each([
    ['it still has a stream', 'a', counting(0), 0],
    ['the log cannot be counted', 'none', () => Promise.reject(new Error('unavailable')), 0],
  ])('stay reserved for the process while %s', async (_, still, countPermits) => {
    const controller = newController({ countPermits });
    await stopHolder(controller);
    connected.add(still);
    await expect(controller.drained('a')).rejects.toThrow();
    expect(committedNow()).toBe(30);
  });

  test.each([
    ['there is no log to count', undefined, 0],
    ['some of its requests may have expired in the log', counting(0), 21 * 3_600_000],
  ])('count as used when %s', async (_, countPermits, ageMs) => {
    const controller = newController({ countPermits });
    await stopHolder(controller);
    now += ageMs;
    await controller.drained('a');
    expect(committedNow()).toBe(30);
  });
});

describe('ledger files', () => {
  let dir: string;
  const unreadable = vi.fn<(uid: string) => void>();
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'standin-ledgers-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  test('are replaced only if they have not changed since they were read', async () => {
    const files = ledgerFiles(path.join(dir, 'quota'));
    expect([await files.read('u1'), await files.list(unreadable)]).toEqual([undefined, []]);
    const version = await files.write('u1', newLedger('2026-11'), undefined);
    expect(await files.read('u1')).toEqual({ ledger: newLedger('2026-11'), version });
    expect(await files.list(unreadable)).toEqual([['u1', await files.read('u1')]]);
    const next = { ...newLedger('2026-11'), used: 3 };
    await expect(files.write('u1', next, undefined)).rejects.toThrow('changed');
    const last = await files.write('u1', next, version);
    await expect(files.write('u1', newLedger('2026-11'), version)).rejects.toThrow('changed');
    // The account's manifest may be added again, with the same uid.
    await files.remove('u1', last);
    expect((await files.read('u1'))?.ledger).toEqual(next);
  });

  test('are replaced by only one of two writes at the same time', async () => {
    const files = ledgerFiles(dir);
    const version = await files.write('u1', newLedger('2026-11'), undefined);
    const next = { ...newLedger('2026-11'), used: 60 };
    const written = await Promise.allSettled([files.write('u1', next, version), files.write('u1', next, version)]);
    expect(written.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  test('cause an error if they are damaged, and the month does not restart', async () => {
    await writeFile(path.join(dir, 'u1.json'), '{"period":"2026-11"');
    await expect(ledgerFiles(dir).read('u1')).rejects.toThrow();
  });

  test('do not prevent other accounts from being settled if they are damaged', async () => {
    const files = ledgerFiles(dir);
    const controller = newController({ store: files, countPermits: () => Promise.resolve(new Map()) });
    const gone = request('gone', 1);
    await controller.request({ ...gone, account: 'u2' });
    await writeFile(path.join(dir, 'u1.json'), '{"period":"2026-11"');
    await writeFile(path.join(dir, 'u3.json'), '{}');
    await controller.drained('gone');
    expect((await files.read('u2'))?.ledger).toEqual(newLedger('2026-11'));
    await files.list(unreadable);
    expect(unreadable.mock.calls.map(([uid]) => uid)).toEqual(['u1', 'u3']);
  });
});
