import { expect, test } from 'vitest';
import { Barrier } from './barrier.ts';

test('the barrier waits for all requests that entered before it, in whatever order they leave, but not for later ones', async () => {
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
