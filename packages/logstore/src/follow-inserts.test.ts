import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createInsertFollower, type FollowOptions, type InsertFeed, type InsertFollower } from './follow-inserts.ts';
import type { Inserts, InsertsFilter } from './read-inserts.ts';

const T0 = 1_800_000_000_000;

interface Stand extends InsertFollower {
  readonly asked: InsertsFilter[];
  /** Sets ClickHouse's response from now on: stamps, relative to T0, with the sum of their ids. */
  answer(nowMs: number, stamps: Readonly<Record<number, number>>): void;
  fail(error: Error | undefined): void;
  /** Advances this process's clock. */
  elapse(ms: number): void;
  /** Behaves like the embedded engine, which announces inserts. */
  announce(): void;
  /** Resolves after this many more polls. */
  polls(count?: number): Promise<void>;
}

const newStand = ({ announces = false } = {}): Stand => {
  const asked: InsertsFilter[] = [];
  let answer: Inserts = { nowMs: T0, idSums: new Map(), mark: announces ? 'mark' : undefined };
  let failure: Error | undefined;
  let clockMs = 0;
  let ended = 0;
  let announced = Promise.withResolvers<undefined>();
  const follower = createInsertFollower({
    read: async (filter) => {
      asked.push(filter);
      await turn();
      ended += 1;
      if (failure !== undefined) throw failure;
      const { sinceMs = -Infinity } = filter;
      return { ...answer, idSums: new Map([...answer.idSums].filter(([ms]) => ms >= sinceMs)) };
    },
    next: async (_mark, signal) => {
      const aborted = Promise.withResolvers<undefined>();
      signal.addEventListener('abort', () => aborted.resolve(undefined));
      await Promise.race([announced.promise, aborted.promise]);
    },
    now: () => clockMs,
  });
  return {
    ...follower,
    asked,
    answer: (nowMs, stamps) => {
      const idSums = new Map(Object.entries(stamps).map(([ms, sum]) => [T0 + Number(ms), BigInt(sum)]));
      answer = { ...answer, nowMs: T0 + nowMs, idSums };
    },
    fail: (error) => (failure = error),
    elapse: (ms) => (clockMs += ms),
    announce: () => {
      announced.resolve(undefined);
      announced = Promise.withResolvers();
    },
    polls: async (count = 2) => {
      const until = ended + count;
      while (ended < until) await turn();
      await turn();
    },
  };
};

const open = (follower: InsertFollower, projectUid = 'p'): InsertFeed =>
  follower.follow({ projectUid, pollIntervalMs: 1 });
/** Returns the reported milliseconds, relative to T0. */
const told = async (feed: InsertFeed): Promise<number[]> => (await feed.next()).map((stamp) => stamp - T0);

test('a feed starts empty, then reports later inserts', async () => {
  const stand = newStand();
  stand.answer(0, { [-1_000]: 1 });
  const feed = open(stand);
  expect(await told(feed)).toEqual([]);
  stand.answer(500, { [-1_000]: 1, 300: 5, 200: 4 });
  expect(await told(feed)).toEqual([200, 300]);
  feed.close();
});

test('a feed reports only inserts of its project, by uid and names', async () => {
  const stand = newStand();
  const scope = { projectUid: 'p', namespace: 'team', project: 'shop' };
  const feeds = [{}, { namespace: 'other' }, { project: 'other' }].map((change) =>
    stand.follow({ ...scope, ...change, pollIntervalMs: 1 }),
  );
  await stand.polls(3);
  expect(stand.asked.slice(0, 3)).toMatchObject([
    scope,
    { ...scope, namespace: 'other' },
    { ...scope, project: 'other' },
  ]);
  for (const feed of feeds) feed.close();
});

test('a feed reports a millisecond again only if its rows have changed', async () => {
  const stand = newStand();
  const feed = open(stand);
  await told(feed);
  stand.answer(500, { 100: 1, 200: 2 });
  expect(await told(feed)).toEqual([100, 200]);
  await stand.polls();
  stand.answer(900, { 100: 1, 200: 7, 800: 3 });
  expect(await told(feed)).toEqual([200, 800]);
  feed.close();
});

test("a project's readers share polls, and each reader receives everything", async () => {
  const stand = newStand();
  const feeds = Array.from({ length: 10 }, () => open(stand));
  const other = open(stand, 'another');
  for (const feed of [...feeds, other]) expect(await told(feed)).toEqual([]);
  const before = stand.asked.filter(({ projectUid }) => projectUid === 'p').length;
  const others = stand.asked.length - before;
  await stand.polls(20);
  const polled = (uid: string): number => stand.asked.filter(({ projectUid }) => projectUid === uid).length;
  // Two pollers take turns, regardless of the number of readers.
  expect(polled('p') - before).toBeGreaterThanOrEqual(8);
  expect(polled('p') - before).toBeLessThanOrEqual(12 + others);
  stand.answer(500, { 100: 1 });
  for (const feed of feeds) expect(await told(feed)).toEqual([100]);
  for (const feed of [...feeds, other]) feed.close();
});

test('a later reader gets the inserts after its start, even during a poll', async () => {
  const stand = newStand();
  stand.answer(0, { [-10]: 1 });
  const first = open(stand);
  await told(first);
  const second = open(stand);
  expect(await told(second)).toEqual([]);
  stand.answer(500, { [-10]: 1, 400: 2 });
  expect(await told(second)).toEqual([400]);
  expect(await told(first)).toEqual([400]);
  first.close();
  second.close();
});

test('a slow reader gets every insert', async () => {
  const stand = newStand();
  const feed = open(stand);
  await told(feed);
  stand.answer(500, { 100: 1 });
  await stand.polls();
  stand.answer(70_000, { 69_000: 2 });
  await stand.polls();
  expect(await told(feed)).toEqual([100, 69_000]);
  feed.close();
});

test('a poll looks back to slightly before the newest insert, or about a minute if there are no inserts', async () => {
  const stand = newStand();
  const feed = open(stand);
  await told(feed);
  // The first poll looks back as far as a running insert may have stamped rows.
  expect(stand.asked[0]).toEqual({ projectUid: 'p', sinceMs: undefined, lookBackMs: 60_000 });
  const since = async (): Promise<number> => {
    await stand.polls();
    return (stand.asked.at(-1)?.sinceMs ?? 0) - T0;
  };
  expect(await since()).toBe(-63_000);
  stand.answer(500, { 100: 1 });
  await told(feed);
  expect(await since()).toBe(100 - 3_000);
  stand.answer(50_000, {});
  expect(await since()).toBe(100 - 3_000);
  stand.answer(3_600_000, {});
  expect(await since()).toBe(3_600_000 - 63_000);
  feed.close();
});

test('a poll looks further back every ten seconds, for slow inserts and replicas that lag', async () => {
  const stand = newStand();
  const feed = open(stand);
  await told(feed);
  const wideSince = async (): Promise<number[]> => {
    const from = stand.asked.length;
    stand.elapse(10_000);
    await stand.polls(3);
    return stand.asked.slice(from).map(({ sinceMs = 0 }) => sinceMs - T0);
  };
  stand.answer(1_000, { 900: 1 });
  await told(feed);
  await stand.polls();
  const wide = await wideSince();
  expect(wide.filter((ms) => ms === 900 - 60_000)).toHaveLength(1);
  // An hour later, a row that was stamped 500 s earlier becomes visible.
  stand.answer(3_600_000, { 900: 1 });
  await stand.polls();
  stand.answer(3_600_000, { [3_600_000 - 500_000]: 9 });
  expect(await wideSince()).toContain(3_600_000 - 660_000);
  expect(await told(feed)).toEqual([3_600_000 - 500_000]);
  feed.close();
});

test('a poll finds other rows despite rows stamped by a fast clock', async () => {
  const stand = newStand();
  const feed = open(stand);
  await told(feed);
  stand.answer(1_000, { 200_000: 1 });
  expect(await told(feed)).toEqual([200_000]);
  await stand.polls();
  expect((stand.asked.at(-1)?.sinceMs ?? 0) - T0).toBe(1_000 - 3_000);
  stand.answer(1_500, { 200_000: 1, 1_400: 2 });
  expect(await told(feed)).toEqual([1_400]);
  feed.close();
});

test('each failed poll and the recovery are reported to every reader', async () => {
  const stand = newStand();
  const [first, second] = [open(stand), open(stand)];
  await told(first);
  await told(second);
  stand.fail(new Error('gone'));
  for (const feed of [first, second]) await expect(feed.next()).rejects.toThrow('gone');
  await expect(first.next()).rejects.toThrow('gone');
  stand.fail(undefined);
  const recovered = async (feed: InsertFeed): Promise<readonly number[]> => {
    for (;;) {
      const stamps = await feed.next().catch(() => undefined);
      if (stamps !== undefined) return stamps;
    }
  };
  expect(await recovered(first)).toEqual([]);
  expect(await recovered(second)).toEqual([]);
  first.close();
  second.close();
});

test('inserts that were found before a failure are reported after it', async () => {
  const stand = newStand();
  const feed = open(stand);
  await told(feed);
  stand.answer(500, { 100: 1 });
  await stand.polls();
  stand.fail(new Error('gone'));
  await stand.polls();
  await expect(feed.next()).rejects.toThrow('gone');
  stand.fail(undefined);
  const stamps: number[] = [];
  while (stamps.length === 0) stamps.push(...(await told(feed).catch(() => [])));
  expect(stamps).toEqual([100]);
  feed.close();
});

test('a hanging poll is reported, but its result still counts', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const answer = Promise.withResolvers<Inserts>();
  const follower = createInsertFollower({ read: () => answer.promise, next: () => Promise.resolve() });
  const feed = follower.follow({ projectUid: 'a', pollIntervalMs: 1 });
  const failed = expect(feed.next()).rejects.toMatchObject({ code: 'ETIMEDOUT', kind: 'retryable' });
  vi.advanceTimersByTime(5_000);
  await failed;
  answer.resolve({ nowMs: T0, idSums: new Map(), mark: undefined });
  expect(await feed.next()).toEqual([]);
  feed.close();
  vi.useRealTimers();
});

/** The turns of a reader, which come when the test gives them. */
const newTurns = () => {
  const waiting = new Set<() => void>();
  const inTurn: FollowOptions['inTurn'] = async (poll, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const begin = (): void => resolve(undefined);
    waiting.add(begin);
    signal.addEventListener('abort', () => {
      waiting.delete(begin);
      reject(signal.reason as Error);
    });
    await promise;
    waiting.delete(begin);
    await poll();
  };
  const give = (): void => {
    for (const begin of waiting) begin();
  };
  return { waiting, inTurn, give };
};

test('a poll runs once, in the first turn of a reader, even of one that came while it waited', async () => {
  const stand = newStand();
  const crowded = newTurns();
  const first = stand.follow({ projectUid: 'p', pollIntervalMs: 1, inTurn: crowded.inTurn });
  const second = stand.follow({ projectUid: 'p', pollIntervalMs: 1, inTurn: crowded.inTurn });
  await turn();
  expect(stand.asked).toHaveLength(0);
  expect(crowded.waiting.size).toBe(2);
  const third = open(stand);
  for (const feed of [first, second, third]) expect(await told(feed)).toEqual([]);
  // The later polls run in the turns of the third reader.
  stand.answer(500, { 100: 1 });
  for (const feed of [first, second, third]) expect(await told(feed)).toEqual([100]);
  third.close();
  await turn();
  await vi.waitFor(() => expect(crowded.waiting.size).toBe(2));
  const asked = stand.asked.length;
  stand.answer(900, { 100: 1, 800: 2 });
  crowded.give();
  for (const feed of [first, second]) expect(await told(feed)).toEqual([800]);
  expect(stand.asked).toHaveLength(asked + 1);
  first.close();
  second.close();
  expect(crowded.waiting.size).toBe(0);
});

test('a poll without a turn is reported, and polling continues', async () => {
  const stand = newStand();
  let isRefused = true;
  const inTurn: FollowOptions['inTurn'] = (poll) => (isRefused ? Promise.reject(new Error('busy')) : poll());
  const feed = stand.follow({ projectUid: 'p', pollIntervalMs: 1, inTurn });
  await expect(feed.next()).rejects.toThrow('busy');
  expect(stand.asked).toHaveLength(0);
  isRefused = false;
  await vi.waitFor(async () => expect(await told(feed)).toEqual([]));
  feed.close();
});

test('a poll that waits long for its turn is reported', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const stand = newStand();
  const { inTurn, give } = newTurns();
  const feed = stand.follow({ projectUid: 'p', pollIntervalMs: 1, inTurn });
  const failed = expect(feed.next()).rejects.toMatchObject({ code: 'EBUSY', kind: 'retryable' });
  vi.advanceTimersByTime(5_000);
  await failed;
  give();
  expect(await told(feed)).toEqual([]);
  feed.close();
  vi.useRealTimers();
});

test('a poll waits for the next insert if inserts are announced', async () => {
  const stand = newStand({ announces: true });
  const feed = open(stand);
  await told(feed);
  for (let turns = 0; turns < 50; turns += 1) await turn();
  expect(stand.asked).toHaveLength(1);
  stand.answer(500, { 100: 1 });
  stand.announce();
  expect(await told(feed)).toEqual([100]);
  feed.close();
});

test('an announced insert is followed by one more poll, for inserts that began earlier', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const stand = newStand({ announces: true });
  const feed = open(stand);
  await told(feed);
  stand.answer(500, { 400: 1 });
  stand.announce();
  expect(await told(feed)).toEqual([400]);
  const polls = stand.asked.length;
  stand.answer(10_500, { 400: 1, [-20_000]: 2 });
  stand.elapse(10_000);
  vi.advanceTimersByTime(10_000);
  expect(await told(feed)).toEqual([-20_000]);
  expect(stand.asked).toHaveLength(polls + 1);
  feed.close();
  vi.useRealTimers();
});

test('a feed that is closed twice does not affect the poller of a later reader', async () => {
  const stand = newStand();
  const first = open(stand);
  await told(first);
  first.close();
  const second = open(stand);
  await told(second);
  first.close();
  const third = open(stand);
  await told(third);
  // Only the first poll of a poller has no start.
  expect(stand.asked.filter(({ sinceMs }) => sinceMs === undefined)).toHaveLength(2);
  second.close();
  third.close();
});

test('the end of all polling closes the feeds that wait, and those that are opened later', async () => {
  const stand = newStand();
  const feeds = [open(stand), open(stand), open(stand, 'other')];
  for (const feed of feeds) await told(feed);
  const waiting = feeds.map((feed) => feed.next());
  stand.close();
  expect(await Promise.all(waiting)).toEqual([[], [], []]);
  const later = open(stand);
  for (const feed of [...feeds, later]) {
    expect(feed.isClosed).toBe(true);
    // A closed feed never waits.
    for (let call = 0; call < 2; call += 1) expect(await feed.next()).toEqual([]);
  }
  const asked = stand.asked.length;
  for (let turns = 0; turns < 50; turns += 1) await turn();
  expect(stand.asked.length).toBe(asked);
});

test('polling stops when the last reader has left', async () => {
  const stand = newStand();
  const [first, second] = [open(stand), open(stand)];
  await told(first);
  first.close();
  await stand.polls();
  second.close();
  await turn();
  const asked = stand.asked.length;
  for (let turns = 0; turns < 50; turns += 1) await turn();
  expect(stand.asked.length).toBeLessThanOrEqual(asked + 1);
  // A closed feed must not block a reader.
  await second.next();
  // The next reader starts another poller.
  const third = open(stand);
  expect(await told(third)).toEqual([]);
  third.close();
});
