import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LostGateways } from './lost-gateways.ts';

const LOOK_MS = 2_000;

let running: Set<string>;
let refusal: Error | undefined;
let gone: number;
let lost: LostGateways;

beforeEach(() => {
  vi.useFakeTimers();
  running = new Set(['a', 'b']);
  refusal = undefined;
  gone = 0;
  lost = new LostGateways({
    isGone: (name) => (refusal === undefined ? Promise.resolve(!running.has(name)) : Promise.reject(refusal)),
    onGone: () => (gone += 1),
    logger: pino({ level: 'silent' }),
  });
});
afterEach(() => {
  lost.close();
  vi.useRealTimers();
});

test('one that still runs is waited for, besides those that are known', async () => {
  lost.add('b');
  await vi.advanceTimersByTimeAsync(10 * LOOK_MS);
  expect(lost.known).toEqual([{ name: 'b', maxStalenessMs: 0 }]);
  const waiting = (gateways: string[], known: number) => ({ kind: 'waiting', gateways, known, unheard: false });
  expect(lost.waitsFor({ kind: 'programmed' }, 2)).toEqual(waiting(['b'], 3));
  expect(lost.waitsFor({ kind: 'no-gateway' }, 0)).toEqual(waiting(['b'], 1));
  expect(lost.waitsFor({ kind: 'waiting', gateways: ['a'], known: 2, unheard: true }, 2)).toEqual(
    waiting(['a', 'b'], 3),
  );
  const rejected = { kind: 'rejected', gateway: 'a', message: 'no' } as const;
  expect(lost.waitsFor(rejected, 2)).toBe(rejected);
});

test('one that has ended is not waited for from then on', async () => {
  lost.add('b');
  await vi.advanceTimersByTimeAsync(LOOK_MS / 2);
  running.delete('b');
  expect([lost.count, gone]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect([lost.count, gone]).toEqual([0, 1]);
  expect(lost.waitsFor({ kind: 'programmed' }, 2)).toEqual({ kind: 'programmed' });
});

test('one that is heard again is no more lost', async () => {
  lost.add('a');
  lost.add('b');
  lost.found([{ name: 'a' }, { name: 'c' }]);
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect([lost.known.map(({ name }) => name), gone]).toEqual([['b'], 0]);
});

test('as long as nobody can tell, it counts as running', async () => {
  refusal = new Error('cannot get resource "pods"');
  running.clear();
  lost.add('a');
  await vi.advanceTimersByTimeAsync(3 * LOOK_MS);
  expect([lost.count, gone]).toEqual([1, 0]);
  refusal = undefined;
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect([lost.count, gone]).toEqual([0, 1]);
});
