import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { FairQueue } from './fair-queue.ts';

interface Limits {
  readonly runningMax: number;
  readonly callsMax: number;
  readonly waitMs?: number;
}

const newQueue = ({ waitMs = 60_000, ...limits }: Limits): FairQueue =>
  new FairQueue({ ...limits, waitMs, refusal: () => new Error('busy') });

/** Starts a queue whose calls run until they are ended by name. Records the calls in the order in which they begin. */
const startQueue = (limits: Limits) => {
  const queue = newQueue(limits);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (holder: string, name: string, signal?: AbortSignal): Promise<string> =>
    queue.run(
      holder,
      () => {
        begun.push(name);
        const { promise, resolve } = Promise.withResolvers<string>();
        ends.set(name, () => resolve(name));
        return promise;
      },
      signal,
    );
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await settled();
  };
  return { add, begun, end };
};
const settled = () => new Promise(setImmediate);

it('does not count a call that waits as refused', async () => {
  const queue = newQueue({ runningMax: 1, callsMax: 8 });
  const end = Promise.withResolvers<undefined>();
  const calls = ['a', 'a', 'b'].map((holder) => queue.run(holder, () => end.promise));
  await settled();
  end.resolve(undefined);
  await Promise.all(calls);
  expect([queue.running.refused, queue.calls.refused]).toEqual([0, 0]);
});

it('leaves a place for other holders, whatever one holder adds', async () => {
  const { add, begun } = startQueue({ runningMax: 2, callsMax: 8 });
  for (const name of ['a1', 'a2', 'a3']) void add('a', name);
  await settled();
  expect(begun).toEqual(['a1']);
  void add('b', 'b1');
  await settled();
  expect(begun).toEqual(['a1', 'b1']);
});

it('gives holders their turns one after the other', async () => {
  const { add, begun, end } = startQueue({ runningMax: 2, callsMax: 16 });
  for (const name of ['a1', 'a2', 'a3', 'a4']) void add('a', name);
  for (const name of ['b1', 'b2']) void add('b', name);
  void add('c', 'c1');
  await settled();
  expect(begun).toEqual(['a1', 'b1']);
  for (const name of ['a1', 'b1', 'a2', 'b2', 'c1', 'a3']) await end(name);
  expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'c1', 'a3', 'a4']);
});

it('refuses a holder that has half of all calls, and nobody else', async () => {
  const { add, begun, end } = startQueue({ runningMax: 2, callsMax: 8 });
  const first = add('a', 'a1');
  for (const name of ['a2', 'a3', 'a4']) void add('a', name);
  await expect(add('a', 'a5')).rejects.toThrow('busy');
  void add('b', 'b1');
  await end('a1');
  expect(await first).toBe('a1');
  void add('a', 'a6');
  await settled();
  expect(begun).toEqual(['a1', 'b1', 'a2']);
});

it('refuses a call that waits too long, and continues with the others', async () => {
  const { add, begun, end } = startQueue({ runningMax: 1, callsMax: 4, waitMs: 20 });
  void add('a', 'a1');
  await expect(add('b', 'b1')).rejects.toThrow('busy');
  void add('c', 'c1');
  await end('a1');
  expect(begun).toEqual(['a1', 'c1']);
});

it('removes a waiting call whose signal aborts, and lets a running one finish', async () => {
  const { add, begun, end } = startQueue({ runningMax: 1, callsMax: 4 });
  const aborts = new AbortController();
  const running = add('a', 'a1', aborts.signal);
  const waiting = add('b', 'b1', aborts.signal);
  await settled();
  aborts.abort(new Error('left'));
  await expect(waiting).rejects.toThrow('left');
  await expect(add('b', 'b2', aborts.signal)).rejects.toThrow('left');
  for (const name of ['c1', 'c2']) void add('c', name);
  await end('a1');
  expect(await running).toBe('a1');
  expect(begun).toEqual(['a1', 'c1']);
});

it('leaves no listener at a signal, which can outlive many calls', async () => {
  const { add, end } = startQueue({ runningMax: 1, callsMax: 4 });
  const { signal } = new AbortController();
  const calls = ['a', 'b'].map((name) => add(name, name, signal));
  await settled();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  for (const name of ['a', 'b']) await end(name);
  expect(await Promise.all(calls)).toEqual(['a', 'b']);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('tells whether a call would begin without waiting', async () => {
  const queue = newQueue({ runningMax: 3, callsMax: 6 });
  const room = () => ['a', 'b'].map((holder) => queue.hasRoomFor(holder));
  const { promise, resolve } = Promise.withResolvers<string>();
  const running = [queue.run('a', () => promise)];
  expect(room()).toEqual([true, true]);
  running.push(queue.run('a', () => promise));
  expect(room()).toEqual([false, true]);
  running.push(queue.run('b', () => promise));
  expect(room()).toEqual([false, false]);
  resolve('ran');
  await Promise.all(running);
  expect(room()).toEqual([true, true]);
});

it('frees the place of a call that fails', async () => {
  const queue = newQueue({ runningMax: 1, callsMax: 1 });
  await expect(queue.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await queue.run('b', () => Promise.resolve('ran'))).toBe('ran');
});
