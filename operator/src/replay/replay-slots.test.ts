import { beforeEach, expect, test } from 'vitest';
import { ReplaySlots, type Ticket } from './replay-slots.ts';

const TURN_MS = 30_000;
let now = 0;
let places: ReplaySlots;
beforeEach(() => {
  now = 0;
  places = new ReplaySlots(() => now);
});

const join = (namespace: string, count = 1): Ticket[] => Array.from({ length: count }, () => places.join(namespace));
const takenCount = (tickets: readonly Ticket[]): number =>
  tickets.filter(({ takenAt }) => takenAt !== undefined).length;
/** Gives back the slots of the tickets whose turn is over. */
const giveBack = (tickets: readonly Ticket[]): void => {
  for (const ticket of tickets.filter((candidate) => places.mustLeave(candidate))) places.leave(ticket);
};

test('up to 16 Replays have a slot, and up to 4 in one namespace', () => {
  expect(takenCount(join('a', 10))).toBe(4);
  for (const namespace of ['b', 'c', 'd']) join(namespace, 10);
  expect([places.taken, takenCount(join('e'))]).toEqual([16, 0]);
});

// If turns did not end, long Replays in four namespaces could block all other Replays.
test('when turns end, each waiting Replay gets a slot, and no further slots are taken away', () => {
  const busy = ['a', 'b', 'c', 'd'].flatMap((namespace) => join(namespace, 4));
  const late = ['e', 'f'].flatMap((namespace) => join(namespace));
  now = TURN_MS - 1;
  giveBack(busy);
  expect(takenCount(late)).toBe(0);
  now = TURN_MS;
  const leaving = busy.filter((ticket) => places.mustLeave(ticket));
  expect(leaving).toHaveLength(2);
  for (const ticket of leaving) places.leave(ticket);
  expect([takenCount(late), places.taken]).toEqual([2, 16]);
  // Slots that were given back are not expected again.
  const [last] = join('g');
  giveBack(busy.filter((ticket) => !leaving.includes(ticket)));
  expect([last?.takenAt, places.taken]).toEqual([TURN_MS, 16]);
});

test('a turn lasts as long as no other Replay can use the slot', () => {
  const b = join('b');
  const [first, ...others] = join('a', 5);
  now = TURN_MS;
  // A fifth Replay in namespace a is waiting. A slot from another namespace does not help this Replay.
  expect(b.some((ticket) => places.mustLeave(ticket))).toBe(false);
  expect(first !== undefined && places.mustLeave(first)).toBe(true);
  expect(others.some((ticket) => places.mustLeave(ticket))).toBe(false);
});

test('a thousand Replays in four namespaces do not delay a Replay in another namespace', () => {
  const busy = ['a', 'b', 'c', 'd'].flatMap((namespace) => join(namespace, 250));
  const [late] = join('e');
  let grants = 0;
  while (late?.takenAt === undefined) {
    const leaver = busy.find(({ takenAt }) => takenAt !== undefined);
    if (leaver === undefined) throw new Error('a slot is taken');
    places.leave(busy.splice(busy.indexOf(leaver), 1)[0] ?? leaver);
    grants += 1;
  }
  expect(grants).toBeLessThanOrEqual(5);
});

test('within a namespace, Replays get slots in order, but a Replay that only needs to finish goes first', () => {
  const [running] = join('a', 4);
  const [second, third] = join('a', 2);
  const ending = places.join('a', 'first');
  if (running === undefined || second === undefined || third === undefined) throw new Error('there are six');
  places.leave(running);
  expect(takenCount([ending, second, third])).toBe(1);
  places.leave(ending);
  expect([second.takenAt, third.takenAt]).toEqual([0, undefined]);
});

test('a Replay that leaves the queue does not take a slot', () => {
  const running = join('a', 4);
  const [gone, next] = join('a', 2);
  if (gone === undefined || next === undefined) throw new Error('there are two');
  places.leave(gone);
  for (const ticket of running) places.leave(ticket);
  expect([gone.takenAt, next.takenAt, places.taken]).toEqual([undefined, 0, 1]);
  places.leave(next);
  expect(places.taken).toBe(0);
});
