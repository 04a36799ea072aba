import { LIMITS } from '@standin/contract';
import type { AccountConfig, PermitAnswer, PermitRequest, UsageReport } from '@standin/contract';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { account, KEY } from '../gateway.testing.ts';
import type { Permit } from '../request/accepted.ts';
import { Refusal } from '../request/refusal.ts';
import { NO_QUOTA, QuotaGate, type QuotaGateOptions } from './quota-gate.ts';

type Asked = Omit<PermitRequest, 'gateway' | 'instance'> & { answer: (answer: PermitAnswer) => void; fail: () => void };

let now: number;
/** How far the wall clock is ahead of the monotonic clock `now`. */
let skewMs: number;
let asked: Asked[];
let usageReports: UsageReport['accounts'][];
let gate: QuotaGate;

const limited = (quota: number): AccountConfig => ({ ...account('own', KEY), quota });

const grant = (permits: number, block = 'b1', period = '2026-11'): PermitAnswer => ({
  kind: 'granted',
  block,
  period,
  permits,
});
const exhausted: PermitAnswer = { kind: 'exhausted', period: '2026-11', limit: 10, used: 10 };

/** Takes the oldest permit request from `asked`. Fails if there is none. */
const permitRequest = (): Asked => {
  const next = asked.shift();
  if (next === undefined) throw new Error('no permits were requested');
  return next;
};
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Admits a request immediately. The request is neither recorded nor refused yet. */
const admitOnly = (quota = 10): Permit | Refusal => {
  const outcome = gate.admit(limited(quota));
  if (outcome instanceof Promise) throw new Error('the request waits');
  return outcome;
};

const use = (admitted: Permit | Refusal): Permit | Refusal => {
  if (!(admitted instanceof Refusal)) gate.use(limited(10), admitted);
  return admitted;
};

/** Admits a request immediately and records it. */
const admitNow = (quota = 10): Permit | Refusal => use(admitOnly(quota));

const newGate = (more: Partial<QuotaGateOptions> = {}): QuotaGate =>
  new QuotaGate({
    ask: (request) =>
      new Promise((resolve, reject) => {
        asked.push({ ...request, answer: resolve, fail: () => reject(new Error('unavailable')) });
      }),
    reportUsage: (accounts) => {
      usageReports.push(accounts);
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
  usageReports = [];
  gate = newGate();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Admits the first request from a block of this size. The request is neither recorded nor refused yet. */
const beginOnly = async (permits: number, quota = 10): Promise<Permit | Refusal> => {
  const first = gate.admit(limited(quota));
  permitRequest().answer(grant(permits));
  const permit = await first;
  await settled();
  return permit;
};

/** Admits the first request from a block of this size and records it. */
const begin = async (permits: number, quota = 10): Promise<Permit | Refusal> => use(await beginOnly(permits, quota));

test('an account without a quota does not need permits', () => {
  expect(gate.admit(account('own', KEY))).toBe(NO_QUOTA);
  expect(asked).toEqual([]);
});

test('the first request waits for a block, and each later request spends one of its permits', async () => {
  expect(await begin(5)).toEqual({ period: '2026-11', block: 'b1', number: 1 });
  expect(admitNow()).toEqual({ period: '2026-11', block: 'b1', number: 2 });
  expect(asked).toEqual([]);
});

test('the gate requests the next block when half of the current one is left, and no request waits for it', async () => {
  await begin(4);
  admitNow();
  const { serial, want, held, answer } = (admitNow(), permitRequest());
  expect({ serial, held, isWanted: want > 0 }).toEqual({ serial: 2, held: ['b1'], isWanted: true });
  answer(grant(2, 'b2'));
  await settled();
  expect([admitNow(), admitNow(), admitNow()]).toMatchObject([{ block: 'b1' }, { block: 'b2' }, { block: 'b2' }]);
});

/** Sends requests at an even rate for `seconds`. Fails if one of them is not admitted immediately. */
const trickle = (requests: number, seconds: number, quota: number): void => {
  for (let n = 0; n < requests; n++) {
    now += (seconds * 1_000) / requests;
    admitNow(quota);
  }
};

test('a block covers ten minutes of demand', async () => {
  await begin(1_000, 1e9);
  trickle(499, 10, 1e9);
  const { want } = permitRequest();
  expect(want).toBeGreaterThan(50 * 600 * 0.95);
  expect(want).toBeLessThan(50 * 600 * 1.05);
});

test('a burst after hours of light traffic makes the gate request as many permits as the burst needs', async () => {
  await begin(1_000, 1e9);
  now += 5 * 3_600_000;
  trickle(499, 1, 1e9);
  expect(permitRequest().want).toBeGreaterThan(499 * 600 * 0.95);
});

test('growing traffic makes the gate request more permits before half of a block is spent, if the operator can grant more', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  gate.start();
  await begin(1_000, 1e9);
  vi.advanceTimersByTime(LIMITS.quotaReportMs);
  expect(asked).toEqual([]);
  trickle(99, 2, 1e9);
  vi.advanceTimersByTime(LIMITS.quotaReportMs);
  const { want, answer } = permitRequest();
  // The demand is 100 requests in two seconds, and a block covers 300 times as long.
  expect(want).toBeGreaterThan(100 * 300 * 0.95);
  answer(grant(20_000, 'b2'));
  await settled();
  trickle(100, 2, 1e9);
  vi.advanceTimersByTime(LIMITS.quotaReportMs);
  expect(asked).toEqual([]);
});

test('concurrent requests never spend more permits than the blocks contain', async () => {
  const all = Array.from({ length: 20 }, () => Promise.resolve(gate.admit(limited(10))));
  permitRequest().answer(grant(7));
  await settled();
  const again = permitRequest();
  expect(again.held).toEqual(['b1']);
  again.answer(exhausted);
  const outcomes = await Promise.all(all);
  expect(outcomes.filter((outcome) => outcome instanceof Refusal)).toHaveLength(13);
});

test('an exhausted quota causes refusals with the reset time, and the gate checks it again once a second', async () => {
  const first = gate.admit(limited(10));
  permitRequest().answer(exhausted);
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
  permitRequest().answer(grant(1, 'b2'));
  expect(await later).toMatchObject({ block: 'b2' });
});

test('the gate checks an exhausted quota again on time if the clock is set back', async () => {
  const first = gate.admit(limited(10));
  permitRequest().answer(exhausted);
  expect(await first).toMatchObject({ code: 'quota_exceeded' });
  await settled();
  skewMs = -3_600_000;
  now += 1_001;
  const later = gate.admit(limited(10));
  permitRequest().answer(grant(1, 'b2'));
  expect(await later).toMatchObject({ block: 'b2' });
});

test('without an operator, the gate spends the remaining permits, then refuses requests as quota_unavailable', async () => {
  await begin(2);
  admitNow();
  permitRequest().fail();
  await settled();
  const third = gate.admit(limited(10));
  permitRequest().fail();
  expect(await third).toMatchObject({ code: 'quota_unavailable', headers: [['retry-after', '1']] });
  expect(gate.failedAsks).toBe(2);
});

test('the gate reuses the permit of a request that could not be stored, under a new number', async () => {
  const first = await beginOnly(1, 10);
  gate.giveBack(limited(10), first as Permit);
  expect(admitNow()).toMatchObject({ block: 'b1', number: 2 });
});

describe('closing a block', () => {
  test('reports its spent permits when the operator recalls it', async () => {
    await begin(5);
    admitNow();
    gate.recall('account-own');
    const { want, held, closed, answer } = permitRequest();
    expect({ want, held, closed }).toEqual({ want: 0, held: [], closed: [{ block: 'b1', used: 2 }] });
    answer({ kind: 'noted' });
    await settled();
    expect(asked).toEqual([]);
    expect(gate.permitsLeft).toBe(0);
  });

  test('does not request permits after a recall until a request needs one, despite recent traffic', async () => {
    await begin(20_000, 1e9);
    trickle(100, 2, 1e9);
    gate.recall('account-own');
    const { want, answer } = permitRequest();
    expect(want).toBe(0);
    answer({ kind: 'noted' });
    await settled();
    expect(asked).toEqual([]);
    void gate.admit(limited(1e9));
    expect(permitRequest().want).toBeGreaterThan(0);
  });

  test('reports its spent permits as soon as every admitted request is recorded or refused', async () => {
    const recorded = await beginOnly(5);
    const refused = admitOnly();
    gate.recall('account-own');
    gate.giveBack(limited(10), refused as Permit);
    await settled();
    expect(asked).toEqual([]);
    use(recorded);
    await settled();
    const { held, closed } = permitRequest();
    expect({ held, closed }).toEqual({ held: [], closed: [{ block: 'b1', used: 1 }] });
  });

  test('does not delay a permit request if the disk is slow, because the block still counts as held', async () => {
    const refused = await beginOnly(5);
    gate.recall('account-own');
    const first = await vi.waitFor(permitRequest);
    expect([first.want, first.held, first.closed]).toEqual([0, ['b1'], []]);
    first.answer({ kind: 'noted' });
    await settled();
    gate.giveBack(limited(10), refused as Permit);
    gate.recall('account-own');
    expect(permitRequest().closed).toEqual([{ block: 'b1', used: 0 }]);
  });

  test('does not wait for a slow disk on shutdown', async () => {
    await beginOnly(5);
    const closing = gate.close();
    await settled();
    const { closed, answer } = permitRequest();
    expect(closed).toEqual([{ block: 'b1', used: 1 }]);
    answer({ kind: 'noted' });
    expect(await closing).toBe(true);
  });

  test('reports the block again until the operator has recorded it', async () => {
    await begin(5);
    gate.recall('account-own');
    permitRequest().fail();
    await settled();
    gate.recall('account-own');
    expect(permitRequest().closed).toEqual([{ block: 'b1', used: 1 }]);
  });

  test('happens immediately when the quota is lowered', async () => {
    await begin(5, 10);
    const next = gate.admit(limited(3));
    expect(permitRequest().closed).toEqual([{ block: 'b1', used: 1 }]);
    expect(next).toBeInstanceOf(Promise);
  });

  test('includes every block on shutdown, and no further request is admitted', async () => {
    await begin(5);
    const closing = gate.close();
    await settled();
    const { want, closed, answer } = permitRequest();
    expect({ want, closed }).toEqual({ want: 0, closed: [{ block: 'b1', used: 1 }] });
    answer({ kind: 'noted' });
    expect(await closing).toBe(true);
    expect(admitNow()).toMatchObject({ code: 'quota_unavailable' });
  });

  test('resolves with false on shutdown if the operator does not accept the report', async () => {
    await begin(5);
    const closing = gate.close();
    await settled();
    permitRequest().fail();
    expect(await closing).toBe(false);
  });

  test('includes a block that the operator is granting during shutdown', async () => {
    await begin(2);
    admitNow();
    const { answer } = permitRequest();
    const closing = gate.close();
    answer(grant(3, 'b2'));
    await settled();
    expect(permitRequest().closed).toEqual([
      { block: 'b1', used: 2 },
      { block: 'b2', used: 0 },
    ]);
    asked = [];
    void closing;
  });
});

test('a higher quota immediately admits requests for an account that was refused', async () => {
  const first = gate.admit(limited(10));
  permitRequest().answer(exhausted);
  await first;
  await settled();
  const next = gate.admit(limited(20));
  permitRequest().answer(grant(5));
  expect(await next).toMatchObject({ block: 'b1' });
});

describe('the usage report', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    gate.start();
  });
  const pass = async (): Promise<UsageReport['accounts'][]> => {
    vi.advanceTimersByTime(LIMITS.quotaReportMs);
    await settled();
    return usageReports.splice(0);
  };
  const spent = (used: number) => [[{ account: 'account-own', blocks: [{ block: 'b1', used }] }]];

  test('is sent when usage has changed, and in full to a new operator', async () => {
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

  test('includes every account in turn if there are too many for one report', async () => {
    const accounts = Array.from({ length: LIMITS.quotaReportAccountsMax + 1 }, (_, index) => {
      return { ...limited(1_000), uid: `account-${index}` };
    });
    const spend = async (): Promise<void> => {
      for (const one of accounts) {
        const admitted = gate.admit(one);
        asked.shift()?.answer(grant(100));
        const permit = await admitted;
        if (!(permit instanceof Refusal)) gate.use(one, permit);
      }
    };
    const reported = new Set<string>();
    for (let report = 0; report < 2; report++) {
      await spend();
      for (const { account: uid } of (await pass()).flat()) reported.add(uid);
    }
    expect(reported.size).toBe(accounts.length);
  });

  test('includes a closed block until the operator has recorded it', async () => {
    await begin(2);
    admitNow();
    permitRequest().answer(grant(2, 'b2'));
    await settled();
    admitNow();
    permitRequest().fail();
    await settled();
    const [[{ blocks } = { blocks: [] }] = []] = await pass();
    expect(blocks).toEqual([
      { block: 'b2', used: 1 },
      { block: 'b1', used: 2 },
    ]);
  });
});

describe('at the end of a month', () => {
  test('a request counts in the month of its block, regardless of the local clock', async () => {
    await begin(10, 100);
    now = Date.UTC(2026, 11, 1, 0, 1);
    // The operator's clock is behind.
    const second = gate.admit(limited(100));
    permitRequest().answer(grant(10, 'b2', '2026-11'));
    expect(await second).toMatchObject({ period: '2026-11', block: 'b1' });
    await settled();
    expect(admitNow(100)).toMatchObject({ period: '2026-11' });
    expect(asked).toEqual([]);
    now += 10_001;
    const third = gate.admit(limited(100));
    const next = permitRequest();
    expect(next.held).toEqual(['b1', 'b2']);
    next.answer(grant(10, 'b3', '2026-12'));
    expect(await third).toMatchObject({ period: '2026-12', block: 'b3' });
  });

  test('permits for the old month stay valid without an operator', async () => {
    await begin(10, 100);
    now = Date.UTC(2026, 11, 3);
    const second = gate.admit(limited(100));
    permitRequest().fail();
    expect(await second).toMatchObject({ period: '2026-11' });
  });
});
