import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EVERY_PROJECT, type LogFilter } from './log-filter.ts';
import type { LogSummary } from './log-entry.ts';
import type { LogStore } from './log-store.ts';
import { tailLog, tailSummaries } from './tail-log.ts';

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
  projectUid: 'u',
  bodyBytes: 0,
  insertedAtMs,
});

/** A store that answers each poll with the next list, then with nothing. */
const scripted = (polls: readonly (readonly LogSummary[] | Error)[]) => {
  const asked: LogFilter[] = [];
  const summaries = (filter: LogFilter): Promise<LogSummary[]> => {
    const answer = polls[asked.length] ?? [];
    asked.push(filter);
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve([...answer]);
  };
  return { asked, store: { summaries } as unknown as LogStore };
};

const ALL = { projectUid: EVERY_PROJECT } as const;

const take = async (store: LogStore, count: number): Promise<string[]> => {
  const stop = new AbortController();
  const paths: string[] = [];
  for await (const { id } of tailSummaries(store, ALL, stop.signal, { pollIntervalMs: 1 })) {
    paths.push(id.slice(-1));
    if (paths.length === count) stop.abort();
  }
  return paths;
};

test('shows each row once, however often the windows overlap, and late ones too', async () => {
  const [a, b, late, c] = [summary(1, 1_000), summary(3, 2_000), summary(2, 9_000), summary(4, 9_500)] as const;
  const { asked, store } = scripted([[a], [a, b], [a, late, b], [late, b, c]]);
  expect(await take(store, 4)).toEqual(['1', '3', '2', '4']);
  // Each window begins before the newest row that the last one saw.
  expect(asked.map(({ insertedSince }) => insertedSince?.getTime())).toEqual([0, 0, 0, 6_000]);
  expect(asked.every(({ order }) => order === 'oldest-first')).toBe(true);
});

test('goes on from what is known, and looks back far enough for an insert that was under way', async () => {
  const { asked, store } = scripted([[summary(1, 900_000)]]);
  await tailSummaries(store, { ...ALL, insertedSince: new Date(1_000_000) }, new AbortController().signal).next();
  expect(asked.map(({ insertedSince }) => insertedSince?.getTime())).toEqual([940_000]);
});

test('ends when it is aborted between polls', async () => {
  const stop = new AbortController();
  const { asked, store } = scripted([]);
  const tail = tailSummaries(store, ALL, stop.signal, { pollIntervalMs: 60_000 });
  const next = tail.next();
  while (asked.length === 0) await turn();
  stop.abort();
  expect(await next).toEqual({ done: true, value: undefined });
});

test('a poll that fails is the caller’s to know', async () => {
  const { store } = scripted([new Error('gone')]);
  await expect(take(store, 1)).rejects.toThrow('gone');
});

test('goes on after a failed poll where it is told to: nothing is missed, nothing shown twice', async () => {
  const [a, b, old] = [summary(1, 5_000), summary(3, 9_000), summary(2, 1_000)] as const;
  const { asked, store } = scripted([[a], new Error('gone'), [a, old], [b]]);
  const stop = new AbortController();
  const failures: unknown[] = [];
  const seen: string[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  for await (const { id } of tailSummaries(store, ALL, stop.signal, { pollIntervalMs: 1, onFailure })) {
    if (seen.push(id.slice(-1)) === 3) stop.abort();
  }
  expect(seen).toEqual(['1', '2', '3']);
  expect(failures).toEqual([new Error('gone')]);
  expect(asked.map(({ insertedSince }) => insertedSince?.getTime())).toEqual([0, 2_000, 2_000, 2_000]);
});

test('looks once more after the abort where it is told to', async () => {
  const { asked, store } = scripted([[], [summary(1, 1_000)]]);
  const stop = new AbortController();
  const tail = tailSummaries(store, ALL, stop.signal, { pollIntervalMs: 60_000, lookOnceMore: true });
  const next = tail.next();
  while (asked.length === 0) await turn();
  stop.abort();
  expect((await next).value).toMatchObject({ receivedAt: '2026-11-21T07:00:00.000001Z' });
  expect(await tail.next()).toEqual({ done: true, value: undefined });
  expect(asked).toHaveLength(2);
});

test('whole entries: those of a read that broke off are read again, each is shown once', async () => {
  const page = [summary(1, 1_000), summary(2, 1_000), summary(3, 1_000)];
  const { store } = scripted([page]);
  const reads: string[][] = [];
  async function* entries(wanted: readonly LogSummary[]): AsyncGenerator<{ id: string }> {
    reads.push(wanted.map(({ id }) => id.slice(-1)));
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
