import { LIMITS } from '@standin/contract';
import type { AccountConfig, PermitAnswer, PermitRequest, UsageReport } from '@standin/contract';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { account, KEY } from '../gateway.testing.ts';
import type { Permit } from '../request/accepted.ts';
import { Refusal } from '../request/refusal.ts';
import { BlockQuotaGate, type BlockQuotaGateOptions } from './block-quota-gate.ts';
import { NO_QUOTA } from './quota-gate.ts';

type Asked = Omit<PermitRequest, 'gateway' | 'instance'> & { answer: (answer: PermitAnswer) => void; fail: () => void };

let now: number;
/** By how much the wall clock was set. */
let skewMs: number;
let asked: Asked[];
let told: UsageReport['accounts'][];
let gate: BlockQuotaGate;

const limited = (quota: number): AccountConfig => ({ ...account('own', KEY), quota });

const grant = (permits: number, block = 'b1', period = '2026-11'): PermitAnswer => ({
  ...{ kind: 'granted', block, period, permits },
});
const exhausted: PermitAnswer = { kind: 'exhausted', period: '2026-11', limit: 10, used: 10 };

/** The question that the gate has just asked; there must be one. */
const question = (): Asked => {
  const next = asked.shift();
  if (next === undefined) throw new Error('nothing was asked');
  return next;
};
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A request that is admitted immediately, and neither recorded nor refused yet. */
const admitOnly = (quota = 10): Permit | Refusal => {
  const outcome = gate.admit(limited(quota));
  if (outcome instanceof Promise) throw new Error('it waits');
  return outcome;
};

const use = (admitted: Permit | Refusal): Permit | Refusal => {
  if (!(admitted instanceof Refusal)) gate.use(limited(10), admitted);
  return admitted;
};

/** A request that is admitted immediately, and recorded. */
const admitNow = (quota = 10): Permit | Refusal => use(admitOnly(quota));

const newGate = (more: Partial<BlockQuotaGateOptions> = {}): BlockQuotaGate =>
  new BlockQuotaGate({
    ask: (request) =>
      new Promise((resolve, reject) => {
        asked.push({ ...request, answer: resolve, fail: () => reject(new Error('away')) });
      }),
    tell: (accounts) => {
      told.push(accounts);
      return Promise.resolve();
    },
    logger: pino({ level: 'silent' }),
    clock: () => now + skewMs,
    uptime: () => now,
    ...more,
  });

beforeEach(() => {
  now = Date.UTC(2026, 10, 21);
  skewMs = 0;
  asked = [];
  told = [];
  gate = newGate();
});

afterEach(() => {
  vi.useRealTimers();
});

/** The first request, admitted by a block of so many permits, and neither recorded nor refused yet. */
const beginOnly = async (permits: number, quota = 10): Promise<Permit | Refusal> => {
  const first = gate.admit(limited(quota));
  question().answer(grant(permits));
  const permit = await first;
  await settled();
  return permit;
};

/** The first request, admitted by a block of so many permits, and recorded. */
const begin = async (permits: number, quota = 10): Promise<Permit | Refusal> => use(await beginOnly(permits, quota));

test('an account without a quota is admitted without a question', () => {
  expect(gate.admit(account('own', KEY))).toBe(NO_QUOTA);
  expect(asked).toEqual([]);
});

test('the first request waits for a block, later ones spend from it, each a permit of its own', async () => {
  expect(await begin(5)).toEqual({ period: '2026-11', block: 'b1', number: 1 });
  expect(admitNow()).toEqual({ period: '2026-11', block: 'b1', number: 2 });
  expect(asked).toEqual([]);
});

test('the next block is asked for when half of one is left, and nobody waits for it', async () => {
  await begin(4);
  admitNow();
  const { serial, want, held, answer } = (admitNow(), question());
  expect({ serial, held, isWanted: want > 0 }).toEqual({ serial: 2, held: ['b1'], isWanted: true });
  answer(grant(2, 'b2'));
  await settled();
  expect([admitNow(), admitNow(), admitNow()]).toMatchObject([{ block: 'b1' }, { block: 'b2' }, { block: 'b2' }]);
});

/** Requests over so many seconds, evenly; all are admitted at once. */
const trickle = (requests: number, seconds: number, quota: number): void => {
  for (let n = 0; n < requests; n++) {
    now += (seconds * 1_000) / requests;
    admitNow(quota);
  }
};

test('a block is worth ten minutes of demand', async () => {
  await begin(1_000, 1e9);
  trickle(499, 10, 1e9);
  const { want } = question();
  expect(want).toBeGreaterThan(50 * 600 * 0.95);
  expect(want).toBeLessThan(50 * 600 * 1.05);
});

test('after hours with a request now and then, a burst asks for what it needs, not for what those hours did', async () => {
  await begin(1_000, 1e9);
  now += 5 * 3_600_000;
  trickle(499, 1, 1e9);
  expect(question().want).toBeGreaterThan(499 * 600 * 0.95);
});

test('where traffic has grown, more is asked for before half of a block is spent, as long as more can be had', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  gate.start();
  await begin(1_000, 1e9);
  vi.advanceTimersByTime(LIMITS.quotaReportMs);
  expect(asked).toEqual([]);
  trickle(99, 2, 1e9);
  vi.advanceTimersByTime(LIMITS.quotaReportMs);
  const { want, answer } = question();
  // 100 in two seconds.
  expect(want).toBeGreaterThan(100 * 300 * 0.95);
  answer(grant(20_000, 'b2'));
  await settled();
  trickle(100, 2, 1e9);
  vi.advanceTimersByTime(LIMITS.quotaReportMs);
  expect(asked).toEqual([]);
});

test('never more than the blocks have, however many come at once', async () => {
  const all = Array.from({ length: 20 }, () => Promise.resolve(gate.admit(limited(10))));
  question().answer(grant(7));
  await settled();
  const again = question();
  expect(again.held).toEqual(['b1']);
  again.answer(exhausted);
  const outcomes = await Promise.all(all);
  expect(outcomes.filter((outcome) => outcome instanceof Refusal)).toHaveLength(13);
});

test('a quota that is used up is a refusal that says until when, and is asked about once a second', async () => {
  const first = gate.admit(limited(10));
  question().answer(exhausted);
  const refusal = await first;
  expect(refusal).toMatchObject({
    code: 'quota_exceeded',
    headers: [['retry-after', String(10 * 24 * 60 * 60)]],
    members: { limit: 10, used: 10, reset: '2026-12-01T00:00:00.000Z' },
  });
  await settled();
  expect(admitNow()).toMatchObject({ code: 'quota_exceeded' });
  expect(asked).toEqual([]);
  now += 1_001;
  const later = gate.admit(limited(10));
  question().answer(grant(1, 'b2'));
  expect(await later).toMatchObject({ block: 'b2' });
});

test('a clock that is set back by an hour does not make it last longer', async () => {
  const first = gate.admit(limited(10));
  question().answer(exhausted);
  expect(await first).toMatchObject({ code: 'quota_exceeded' });
  await settled();
  skewMs = -3_600_000;
  now += 1_001;
  const later = gate.admit(limited(10));
  question().answer(grant(1, 'b2'));
  expect(await later).toMatchObject({ block: 'b2' });
});

test('without an operator what is at hand is spent, then nothing is known', async () => {
  await begin(2);
  admitNow();
  question().fail();
  await settled();
  const third = gate.admit(limited(10));
  question().fail();
  expect(await third).toMatchObject({ code: 'quota_unavailable', headers: [['retry-after', '1']] });
  expect(gate.failedAsks).toBe(2);
});

test('a permit comes back when its request could not be stored, and its number is not used again', async () => {
  const first = await beginOnly(1, 10);
  gate.giveBack(limited(10), first as Permit);
  expect(admitNow()).toMatchObject({ block: 'b1', number: 2 });
});

describe('a block is closed', () => {
  test('when the operator wants it back, with what was spent', async () => {
    await begin(5);
    admitNow();
    gate.recall('account-own');
    const { want, held, closed, answer } = question();
    expect({ want, held, closed }).toEqual({ want: 0, held: [], closed: [{ block: 'b1', used: 2 }] });
    answer({ kind: 'noted' });
    await settled();
    expect(asked).toEqual([]);
    expect(gate.permitsLeft).toBe(0);
  });

  test('and whoever gives it back asks for more only when a request needs it, however many came of late', async () => {
    await begin(20_000, 1e9);
    trickle(100, 2, 1e9);
    gate.recall('account-own');
    const { want, answer } = question();
    expect(want).toBe(0);
    answer({ kind: 'noted' });
    await settled();
    expect(asked).toEqual([]);
    void gate.admit(limited(1e9));
    expect(question().want).toBeGreaterThan(0);
  });

  test('and how much was spent is said when all that was admitted is recorded, or given back', async () => {
    const recorded = await beginOnly(5);
    const refused = admitOnly();
    gate.recall('account-own');
    gate.giveBack(limited(10), refused as Permit);
    await settled();
    expect(asked).toEqual([]);
    use(recorded);
    await settled();
    const { held, closed } = question();
    expect({ held, closed }).toEqual({ held: [], closed: [{ block: 'b1', used: 1 }] });
  });

  test('but is held as long as its disk takes: another question is not kept waiting, and the next recall gets it', async () => {
    const refused = await beginOnly(5);
    gate.recall('account-own');
    const first = await vi.waitFor(question);
    expect([first.want, first.held, first.closed]).toEqual([0, ['b1'], []]);
    first.answer({ kind: 'noted' });
    await settled();
    gate.giveBack(limited(10), refused as Permit);
    gate.recall('account-own');
    expect(question().closed).toEqual([{ block: 'b1', used: 0 }]);
  });

  test('at the end, however long the disk takes', async () => {
    await beginOnly(5);
    const closing = gate.close();
    await settled();
    const { closed, answer } = question();
    expect(closed).toEqual([{ block: 'b1', used: 1 }]);
    answer({ kind: 'noted' });
    expect(await closing).toBe(true);
  });

  test('and said again until the operator has noted it', async () => {
    await begin(5);
    gate.recall('account-own');
    question().fail();
    await settled();
    gate.recall('account-own');
    expect(question().closed).toEqual([{ block: 'b1', used: 1 }]);
  });

  test('when the quota is lowered, at once', async () => {
    await begin(5, 10);
    const next = gate.admit(limited(3));
    expect(question().closed).toEqual([{ block: 'b1', used: 1 }]);
    expect(next).toBeInstanceOf(Promise);
  });

  test('at the end, with all others, and nothing is admitted any more', async () => {
    await begin(5);
    const closing = gate.close();
    await settled();
    const { want, closed, answer } = question();
    expect({ want, closed }).toEqual({ want: 0, closed: [{ block: 'b1', used: 1 }] });
    answer({ kind: 'noted' });
    expect(await closing).toBe(true);
    expect(admitNow()).toMatchObject({ code: 'quota_unavailable' });
  });

  test('at the end, or it is known that the operator did not take it', async () => {
    await begin(5);
    const closing = gate.close();
    await settled();
    question().fail();
    expect(await closing).toBe(false);
  });

  test('at the end, when the answer that was under way is a block', async () => {
    await begin(2);
    admitNow();
    const { answer } = question();
    const closing = gate.close();
    answer(grant(3, 'b2'));
    await settled();
    expect(question().closed).toEqual([
      { block: 'b1', used: 2 },
      { block: 'b2', used: 0 },
    ]);
    asked = [];
    void closing;
  });
});

test('a higher quota lets a refused account in at once', async () => {
  const first = gate.admit(limited(10));
  question().answer(exhausted);
  await first;
  await settled();
  const next = gate.admit(limited(20));
  question().answer(grant(5));
  expect(await next).toMatchObject({ block: 'b1' });
});

describe('what was spent', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    gate.start();
  });
  const pass = async (): Promise<UsageReport['accounts'][]> => {
    vi.advanceTimersByTime(LIMITS.quotaReportMs);
    await settled();
    return told.splice(0);
  };
  const spent = (used: number) => [[{ account: 'account-own', blocks: [{ block: 'b1', used }] }]];

  test('is told when it has changed, and all of it to an operator that is new', async () => {
    expect(await pass()).toEqual([]);
    await begin(100, 1_000);
    admitNow(1_000);
    expect(await pass()).toEqual(spent(2));
    expect(await pass()).toEqual([]);
    admitNow(1_000);
    expect(await pass()).toEqual(spent(3));
    gate.connected();
    expect(await pass()).toEqual(spent(3));
  });

  test('is told of a block that is closed, too, until the operator has noted that', async () => {
    await begin(2);
    admitNow();
    question().answer(grant(2, 'b2'));
    await settled();
    admitNow();
    question().fail();
    await settled();
    const [[{ blocks } = { blocks: [] }] = []] = await pass();
    expect(blocks).toEqual([
      { block: 'b2', used: 1 },
      { block: 'b1', used: 2 },
    ]);
  });
});

describe('at the end of a month', () => {
  test('a request counts in the month of its block, whatever this clock says', async () => {
    await begin(10, 100);
    now = Date.UTC(2026, 11, 1, 0, 1);
    // The operator's clock is behind.
    const second = gate.admit(limited(100));
    question().answer(grant(10, 'b2', '2026-11'));
    expect(await second).toMatchObject({ period: '2026-11', block: 'b1' });
    await settled();
    expect(admitNow(100)).toMatchObject({ period: '2026-11' });
    expect(asked).toEqual([]);
    now += 10_001;
    const third = gate.admit(limited(100));
    const next = question();
    expect(next.held).toEqual(['b1', 'b2']);
    next.answer(grant(10, 'b3', '2026-12'));
    expect(await third).toMatchObject({ period: '2026-12', block: 'b3' });
  });

  test('without an operator the old month goes on', async () => {
    await begin(10, 100);
    now = Date.UTC(2026, 11, 3);
    const second = gate.admit(limited(100));
    question().fail();
    expect(await second).toMatchObject({ period: '2026-11' });
  });
});
