import type { LogRow } from '@standin/contract';
import { newLogRow } from '@standin/exchange/testing';
import { parseFilter, type Filter } from '@standin/exchange/search';
import { expect, test } from 'vitest';
import type { ProjectLog } from '../backend.ts';
import { countSettled, matchRecent, readEntries } from './recent-requests.ts';
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
const logWith = (stored: readonly LogRow[], own: { recent: readonly LogRow[] | undefined }) => {
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
    settle: () => {
      calls.push('settle');
      return Promise.resolve();
    },
    count: ({ search: wanted, without = [] }) => {
      calls.push('count');
      const counted = stored.filter(({ id }) => !without.includes(id));
      return Promise.resolve((matchRecent(counted, { search: wanted }) ?? []).length);
    },
    summaries: ({ search: wanted, limit }) => {
      calls.push('list');
      return Promise.resolve((matchRecent(stored, { search: wanted }) ?? []).slice(0, limit));
    },
    entries: async function* () {
      await Promise.resolve();
      yield* [];
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
  ['the newest requests are not known', undefined, 'body:a'],
  ['there are too many of them', Array.from({ length: 101 }, () => row('a')), 'body:a'],
  ['the text of a body is only in the log', [encoded], 'body:a'],
])('a count waits for the log if %s', async (_, recent, q) => {
  const { log, calls } = logWith([], { recent });
  expect(await countSettled(log, { search: search(q) }, NEVER)).toBe(0);
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

test('a wait ends when the gateway has accepted a request, and returns its entry before the log has it', async () => {
  const own = { recent: [row('other')] as readonly LogRow[] };
  const { log, calls, next } = logWith([], own);
  const waiting = waitForRequests(log, { search: search('body:mine'), count: 1, timeoutMs: 10_000 }, NEVER);
  await expect.poll(() => calls).toEqual(['list']);
  const mine = row('mine');
  own.recent = [mine];
  next.arrived.resolve(undefined);
  const found = await waiting;
  expect(found.map(({ id }) => id)).toEqual([mine.id]);
  // Nothing is read from the log.
  expect(calls).toEqual(['list']);
  const entries = [];
  for await (const entry of readEntries(log, found)) entries.push(entry);
  expect(entries).toMatchObject([{ id: mine.id, request: { body: 'mine' } }]);
});

test('a wait returns the oldest requests, those of the log first', async () => {
  const rows = [3, 1, 2].map((receivedAtUs) => row('a', { receivedAtUs }));
  const { log } = logWith(rows.slice(0, 1), { recent: rows.slice(1) });
  const found = await waitForRequests(log, { count: 2, timeoutMs: 10_000 }, NEVER);
  expect(found.map(({ id }) => id)).toEqual([rows[1]?.id, rows[2]?.id]);
});

test('a wait that times out returns what there is', async () => {
  const { log } = logWith([row('a')], { recent: [] });
  expect(await waitForRequests(log, { count: 2, timeoutMs: 50 }, NEVER)).toHaveLength(1);
});
