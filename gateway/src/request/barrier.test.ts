import { expect, test } from 'vitest';
import { Barrier } from './barrier.ts';

test('waits for everything that has entered, in whatever order it leaves, and for nothing later', async () => {
  const barrier = new Barrier();
  await barrier.passed();
  const log: string[] = [];
  const leaveFirst = barrier.enter();
  void barrier.passed().then(() => log.push('first'));
  const leaveSecond = barrier.enter();
  void barrier.passed().then(() => log.push('second'));
  barrier.enter();
  const turn = () => new Promise(setImmediate);

  leaveSecond();
  await turn();
  expect(log, 'the first is still inside').toEqual([]);
  leaveFirst();
  await turn();
  expect(log).toEqual(['first', 'second']);
});
