import { setTimeout as delay } from 'node:timers/promises';
import type { LogRow } from '@standin/contract';
import { toLogSummary } from '@standin/exchange';
import { newLogRow } from '@standin/exchange/testing';
import { parseFilter, type Filter } from '@standin/exchange/search';
import { expect, test } from 'vitest';
import type { ProjectLog } from '../backend.ts';
import { countSettled, matchRecent } from './recent-requests.ts';
import { waitForRequests } from './wait-for-requests.ts';

const NEVER = new AbortController().signal;

const search = (q: string): Filter => {
  const parsed = parseFilter(q);
  if (parsed.kind === 'invalid') throw new Error(parsed.problem.message);
  return parsed.filter;
};
const row = (body: string, more: Partial<LogRow> = {}): LogRow =>
  newLogRow({ requestBody: Buffer.from(body), ...more });
const encoded = row('x', { requestHeaders: [['content-encoding', 'gzip']] });

/** Returns a log with rows that are stored, and rows that only the gateway in this process has. Notes its calls. */
const logWith = (inserted: readonly LogRow[], own: { recent: readonly LogRow[] | undefined }) => {
  let stored = inserted;
  const calls: string[] = [];
  const next = { arrived: Promise.withResolvers<undefined>() };
  const log: Partial<ProjectLog> = {
    own: {
      recent: () => Promise.resolve(own.recent),
      next: async (signal) => {
        signal.addEventListener('abort', () => next.arrived.reject(signal.reason as Error));
        await next.arrived.promise;
      },
    },
    settle: (signal) => {
      if (signal.aborted) return Promise.reject(signal.reason as Error);
      calls.push('settle');
      stored = [...stored, ...(own.recent ?? [])];
      return Promise.resolve();
    },
    count: ({ search: wanted, without = [] }) => {
      calls.push('count');
      const counted = stored.filter(({ id }) => !without.includes(id));
      return Promise.resolve((matchRecent(counted, { search: wanted }) ?? []).length);
    },
    summaries: ({ search: wanted, limit }) => {
      calls.push('list');
      const found = matchRecent(stored, { search: wanted }) ?? [];
      const summaries = found.map((one) => ({ ...toLogSummary(one), bodyBytes: 0, insertedAtMs: 0 }));
      return Promise.resolve(summaries.slice(0, limit));
    },
  };
  return { log: log as ProjectLog, calls, next };
};

test('a count includes what the log does not have yet, and counts each request once', async () => {
  const [first, second, third] = [row('a'), row('a'), row('b')];
  // The second one is being inserted.
  const { log, calls } = logWith([first, second], { recent: [second, third] });
  expect(await countSettled(log, {}, NEVER)).toBe(3);
  expect(await countSettled(log, { search: search('body:a') }, NEVER)).toBe(2);
  expect(await countSettled(log, { search: search('body:b') }, NEVER)).toBe(1);
  expect(await countSettled(log, { search: search('body:c') }, NEVER)).toBe(0);
  expect(calls).toEqual(['count', 'count', 'count', 'count']);
});

test('a count respects the time range', async () => {
  const { log } = logWith([], { recent: [row('a', { receivedAtUs: 10 }), row('a', { receivedAtUs: 20 })] });
  expect(await countSettled(log, { sinceUs: 10, untilUs: 20 }, NEVER)).toBe(1);
  expect(await countSettled(log, { sinceUs: 11 }, NEVER)).toBe(1);
});

test.each([
  ['the newest requests are not known', undefined, 'body:a', 0],
  ['there are too many of them', Array.from({ length: 101 }, () => row('a')), 'body:a', 101],
  ['the text of a body is only in the log', [encoded], 'body:a', 0],
])('a count waits for the log if %s', async (_, recent, q, found) => {
  const { log, calls } = logWith([], { recent });
  expect(await countSettled(log, { search: search(q) }, NEVER)).toBe(found);
  expect(calls).toEqual(['settle', 'count']);
});

test('a term that does not match decides, although another one is not known', () => {
  expect(matchRecent([encoded], { search: search('body:a method:PUT') })).toEqual([]);
});

test('without a gateway in this process, a count waits for the log', async () => {
  const { log, calls } = logWith([row('a')], { recent: [] });
  expect(await countSettled({ ...log, own: undefined } as never, {}, NEVER)).toBe(1);
  expect(calls).toEqual(['settle', 'count']);
});

test('a count does not include an earlier version that matches, if the newest one does not', async () => {
  const ended = row('a', { status: 200 });
  const { log } = logWith([{ ...ended, version: 0, status: 0 }], { recent: [ended] });
  expect(await countSettled(log, { search: search('-status:200') }, NEVER)).toBe(0);
});

test('a wait ends when the gateway has accepted a request, which the log has then', async () => {
  const own = { recent: [row('other')] as readonly LogRow[] };
  const { log, calls, next } = logWith([], own);
  const waiting = waitForRequests(log, { search: search('body:mine'), count: 1, timeoutMs: 10_000 }, NEVER);
  await expect.poll(() => calls).toEqual(['list']);
  const mine = row('mine');
  own.recent = [mine];
  next.arrived.resolve(undefined);
  expect((await waiting).map(({ id }) => id)).toEqual([mine.id]);
  expect(calls).toEqual(['list', 'settle', 'list']);
});

test('a wait does not return a request in progress before the log has it', async () => {
  const begun = row('a', { version: 0, status: 0, outcome: 'in_progress' });
  const { log, calls } = logWith([], { recent: [begun] });
  expect(await waitForRequests(log, { count: 1, timeoutMs: 50 }, NEVER)).toEqual([]);
  expect(calls).not.toContain('settle');
});

test('a wait without time returns what the gateway has accepted', async () => {
  const rows = [row('a')];
  const { log } = logWith([], { recent: rows });
  const slow = { ...log, own: { ...log.own, recent: () => delay(20, rows) } } as ProjectLog;
  expect(await waitForRequests(slow, { count: 1, timeoutMs: 0 }, NEVER)).toHaveLength(1);
});

test('a wait that times out returns what there is', async () => {
  const { log } = logWith([row('a')], { recent: [] });
  expect(await waitForRequests(log, { count: 2, timeoutMs: 50 }, NEVER)).toHaveLength(1);
});
