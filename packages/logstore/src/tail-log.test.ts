import { getEventListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createInsertFollower } from './follow-inserts.ts';
import { EVERY_PROJECT, type LogFilter } from './log-filter.ts';
import type { LogSummary } from '@standin/exchange';
import type { LogStore } from './log-store.ts';
import { rememberRequests, tailLog, tailSummaries } from './tail-log.ts';

const summary = (number: number, insertedAtMs: number): LogSummary => ({
  id: `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`,
  receivedAt: `2026-11-21T07:00:00.${String(number).padStart(6, '0')}Z`,
  namespace: 'default',
  project: 'shop',
  endpoint: 'orders',
  method: 'GET',
  path: '/',
  query: '',
  status: 200,
  durationMs: 1,
  outcome: 'mocked',
  responseName: '',
  credential: 'key',
  deliveryId: '',
  projectUid: 'u',
  bodyBytes: 0,
  insertedAtMs,
});

const ALL = { projectUid: EVERY_PROJECT } as const;

const lastDigit = ({ id }: { readonly id: string }): string => id.slice(-1);

/** Returns a log with `rows`. Each error in `failures` makes the next read of that kind fail. */
const newLog = (...rows: LogSummary[]) => {
  const asked: LogFilter[] = [];
  const failures: { summaries: Error[]; polls: Error[] } = { summaries: [], polls: [] };
  let clockMs = 0;
  const nowMs = (): number => Math.max(10_000, ...rows.map(({ insertedAtMs }) => insertedAtMs));
  const follower = createInsertFollower({
    read: async ({ sinceMs, lookBackMs }) => {
      await turn();
      const failure = failures.polls.shift();
      if (failure !== undefined) throw failure;
      const idSums = new Map<number, bigint>();
      for (const { id, insertedAtMs } of rows) {
        if (insertedAtMs < (sinceMs ?? nowMs() - lookBackMs)) continue;
        idSums.set(insertedAtMs, (idSums.get(insertedAtMs) ?? 0n) + BigInt(`0x${id.slice(-12)}`));
      }
      return { nowMs: nowMs(), idSums, mark: undefined };
    },
    next: () => Promise.resolve(),
    now: () => clockMs,
  });
  const summaries = async (filter: LogFilter): Promise<LogSummary[]> => {
    asked.push(filter);
    await turn();
    const failure = failures.summaries.shift();
    if (failure !== undefined) throw failure;
    const { insertedSince, insertedAt } = filter;
    return rows
      .filter(({ insertedAtMs }) => insertedAtMs >= (insertedSince?.getTime() ?? 0))
      .filter(({ insertedAtMs }) => insertedAt?.includes(insertedAtMs) ?? true)
      .sort((a, b) => (a.receivedAt < b.receivedAt ? -1 : 1));
  };
  const store = { summaries, follow: follower.follow.bind(follower) } as unknown as LogStore;
  return { asked, failures, rows, store, close: () => follower.close(), elapse: (ms: number) => (clockMs += ms) };
};

test('only the last requests are remembered, so that memory is bounded', () => {
  const requests = ['a', 'b', 'a', 'c', 'b', 'a'].map((id) => ({ id, outcome: 'mocked' }) as const);
  expect(requests.map(rememberRequests(2))).toEqual([true, true, false, true, false, true]);
});

test('a request that was in progress is new again when it has ended, but not afterwards', () => {
  const outcomes = ['in_progress', 'in_progress', 'forwarded', 'forwarded', 'in_progress'] as const;
  const isNew = rememberRequests();
  expect(outcomes.map((outcome) => isNew({ id: 'a', outcome }))).toEqual([true, false, true, false, false]);
});

test('a tail shows a request in progress, and again when it has ended', async () => {
  const running = { ...summary(1, 5_000), outcome: 'in_progress', status: 0 } as const;
  const { rows, store } = newLog(running);
  const stop = new AbortController();
  const seen: string[] = [];
  for await (const { outcome } of tailSummaries(store, ALL, stop.signal, { pollIntervalMs: 1 })) {
    seen.push(outcome);
    if (seen.length === 1) rows.push({ ...summary(1, 9_000), outcome: 'forwarded' }, summary(2, 9_000));
    if (seen.length === 3) stop.abort();
  }
  expect(seen).toEqual(['in_progress', 'forwarded', 'mocked']);
});

test('a tail shows each row once, including late rows, regardless of how often its millisecond is read', async () => {
  const [a, b, late, c] = [summary(1, 5_000), summary(3, 9_000), summary(2, 8_500), summary(4, 9_000)] as const;
  const { asked, rows, store } = newLog(a);
  const stop = new AbortController();
  const seen: string[] = [];
  for await (const found of tailSummaries(store, ALL, stop.signal, { pollIntervalMs: 1 })) {
    seen.push(lastDigit(found));
    if (found.id === a.id) rows.push(b);
    // Add rows that are stamped before or with the newest row but become visible after it, and a copy that is delivered again.
    if (found.id === b.id) rows.push(late, c, { ...a, insertedAtMs: 9_500 });
    if (seen.length === 4) stop.abort();
  }
  expect(seen).toEqual(['1', '3', '2', '4']);
  expect(asked.map(({ insertedAt }) => insertedAt)).toEqual([undefined, [9_000], [8_500, 9_000, 9_500]]);
  expect(asked.every(({ order }) => order === 'oldest-first')).toBe(true);
});

test('a tail finds a row that becomes visible a minute after its insert began', async () => {
  const [a, late] = [summary(1, 90_000), summary(2, 35_000)] as const;
  const { elapse, rows, store } = newLog(a);
  const stop = new AbortController();
  const seen: string[] = [];
  for await (const found of tailSummaries(store, ALL, stop.signal, { pollIntervalMs: 1 })) {
    seen.push(lastDigit(found));
    rows.push(late);
    elapse(10_000);
    if (seen.length === 2) stop.abort();
  }
  expect(seen).toEqual(['1', '2']);
});

test('a tail reads nothing while nothing is inserted', async () => {
  const { asked, store } = newLog(summary(1, 9_000));
  const stop = new AbortController();
  const tail = tailSummaries(store, ALL, stop.signal, { pollIntervalMs: 1 });
  await tail.next();
  const next = tail.next();
  for (let turns = 0; turns < 100; turns += 1) await turn();
  expect(asked).toHaveLength(1);
  stop.abort();
  expect(await next).toEqual({ done: true, value: undefined });
});

test('a tail continues after the known rows and looks back far enough for an insert that was running', async () => {
  const { asked, store } = newLog(summary(1, 990_000));
  const stop = new AbortController();
  const filter = { ...ALL, insertedSince: new Date(1_000_000) };
  await tailSummaries(store, filter, stop.signal).next();
  expect(asked.map(({ insertedSince }) => insertedSince?.getTime())).toEqual([940_000]);
  stop.abort();
});

test('a tail reports the insert up to which every row has been shown', async () => {
  const { rows, store } = newLog(summary(1, 9_000));
  const stop = new AbortController();
  const positions: number[] = [];
  const onCaughtUp = (insertedMs: number): void => {
    if (positions.push(insertedMs) === 1) rows.push(summary(2, 9_700));
    else stop.abort();
  };
  const shown: string[] = [];
  const options = { pollIntervalMs: 1, onCaughtUp };
  for await (const found of tailSummaries(store, ALL, stop.signal, options)) shown.push(lastDigit(found));
  expect(shown).toEqual(['1', '2']);
  expect(positions).toEqual([9_000, 9_700]);
});

test('a tail ends when it is aborted between polls', async () => {
  const stop = new AbortController();
  const { asked, store } = newLog();
  const tail = tailSummaries(store, ALL, stop.signal, { pollIntervalMs: 60_000 });
  const next = tail.next();
  while (asked.length === 0) await turn();
  stop.abort();
  expect(await next).toEqual({ done: true, value: undefined });
});

test.each([undefined, new Error('closed')])(
  'a tail ends when the log store is closed, after the error %s',
  async (failure) => {
    const { asked, store, failures, close } = newLog();
    const tail = tailSummaries(store, ALL, new AbortController().signal, {
      pollIntervalMs: 1,
      onFailure: () => undefined,
    });
    const next = tail.next();
    while (asked.length === 0) await turn();
    if (failure !== undefined) failures.polls.push(failure);
    close();
    expect(await next).toEqual({ done: true, value: undefined });
  },
);

test('a tail that ends leaves no listener at the signal, which can outlive it', async () => {
  const stop = new AbortController();
  for await (const found of tailSummaries(newLog(summary(1, 1_000)).store, ALL, stop.signal)) {
    expect([lastDigit(found), getEventListeners(stop.signal, 'abort').length]).toEqual(['1', 1]);
    break;
  }
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});

/** Returns reads of complete entries that call `before` and fail. */
const failingEntries = (before: () => void = () => undefined) =>
  async function* (wanted: readonly LogSummary[]): AsyncGenerator<{ id: string }> {
    for (const { id } of wanted) {
      await turn();
      before();
      if (wanted.length > 0) throw new Error('gone');
      yield { id };
    }
  };

test('a tail of complete entries ends when the log store is closed during a read, without a report', async () => {
  const { store, close } = newLog(summary(1, 1_000));
  const failures: unknown[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  const failing = { ...store, entries: failingEntries(close) } as unknown as LogStore;
  const tail = tailLog(failing, ALL, new AbortController().signal, { pollIntervalMs: 1, onFailure });
  expect(await tail.next()).toEqual({ done: true, value: undefined });
  expect(failures).toEqual([]);
});

test('a tail of complete entries that cannot be read ends when the log store is closed', async () => {
  const { store, close } = newLog(summary(1, 1_000));
  const failing = { ...store, entries: failingEntries() } as unknown as LogStore;
  const tail = tailLog(failing, ALL, new AbortController().signal, { pollIntervalMs: 1, onFailure: close });
  expect(await tail.next()).toEqual({ done: true, value: undefined });
});

test.each(['summaries', 'polls'] as const)('a tail rejects if the %s fails', async (kind) => {
  const { failures, store } = newLog(summary(1, 9_000));
  failures[kind].push(new Error('gone'));
  await expect(tailSummaries(store, ALL, new AbortController().signal).next()).rejects.toThrow('gone');
});

test('a tail continues after failures with onFailure, without missing or repeating a row', async () => {
  const [a, b, old] = [summary(1, 7_000), summary(3, 9_000), summary(2, 6_000)] as const;
  const { failures, rows, store } = newLog(a);
  failures.polls.push(new Error('no poll'));
  failures.summaries.push(new Error('no list'));
  const stop = new AbortController();
  const told: string[] = [];
  const seen: string[] = [];
  const onFailure = (error: unknown): void => void told.push((error as Error).message);
  for await (const found of tailSummaries(store, ALL, stop.signal, { pollIntervalMs: 1, onFailure })) {
    seen.push(lastDigit(found));
    if (found.id === a.id) {
      rows.push(old, b);
      failures.summaries.push(new Error('no rows'));
    }
    if (seen.length === 3) stop.abort();
  }
  expect(seen).toEqual(['1', '2', '3']);
  expect(told).toEqual(['no poll', 'no list', 'no rows']);
});

test('a tail shows an entry once that ends between the two reads', async () => {
  const { rows, store } = newLog({ ...summary(1, 5_000), outcome: 'in_progress' });
  const seen: string[] = [];
  async function* entries(wanted: readonly LogSummary[]): AsyncGenerator<Pick<LogSummary, 'id' | 'outcome'>> {
    await turn();
    if (seen.length === 0) rows.push({ ...summary(1, 9_000), outcome: 'forwarded' }, summary(2, 9_000));
    for (const { id } of wanted) yield { id, outcome: 'forwarded' };
  }
  const stop = new AbortController();
  const tail = tailLog({ ...store, entries } as unknown as LogStore, ALL, stop.signal, { pollIntervalMs: 1 });
  for await (const { id } of tail) if (seen.push(id.slice(-1)) === 2) stop.abort();
  expect(seen).toEqual(['1', '2']);
});

test('a tail shows each complete entry once, although an interrupted read is repeated', async () => {
  const { store } = newLog(summary(1, 1_000), summary(2, 1_000), summary(3, 1_000));
  const reads: string[][] = [];
  async function* entries(wanted: readonly LogSummary[]): AsyncGenerator<{ id: string }> {
    reads.push(wanted.map(lastDigit));
    for (const { id } of wanted) {
      await turn();
      if (reads.length === 1 && id.endsWith('2')) throw new Error('gone');
      yield { id };
    }
  }
  const stop = new AbortController();
  const seen: string[] = [];
  const tail = tailLog({ ...store, entries } as unknown as LogStore, ALL, stop.signal, {
    pollIntervalMs: 1,
    onFailure: () => undefined,
  });
  for await (const { id } of tail) if (seen.push(id.slice(-1)) === 3) stop.abort();
  expect(seen).toEqual(['1', '2', '3']);
  expect(reads).toEqual([
    ['1', '2', '3'],
    ['2', '3'],
  ]);
});
