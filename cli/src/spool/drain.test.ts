import { expect, it } from 'vitest';
import { expectEmpty } from './drain.ts';

const EMPTY = { rows: 5, quarantined: 0, leftBytes: 0, inUse: 0, unreported: 0, gaveUp: false };

it.each([
  ['is in use', { inUse: 1 }, true, 'still uses this folder'],
  ['has rows in quarantine', { quarantined: 1 }, true, 'in quarantine'],
  ['has files that may grow', { leftBytes: 1 }, true, 'files remain'],
  ['belongs to a gateway whose end was not reported', { unreported: 1 }, true, 'the operator was not notified'],
])('a folder that %s must not be removed', (_, left, isReported, message) => {
  expect(() => expectEmpty({ ...EMPTY, ...left }, isReported)).toThrow(message);
});

it('an empty folder can be removed, without an operator also unreported', () => {
  expectEmpty(EMPTY, true);
  expectEmpty({ ...EMPTY, unreported: 1 }, false);
});
