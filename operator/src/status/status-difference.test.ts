import { expect, test } from 'vitest';
import { statusDifference } from './status-difference.ts';

test.each([
  ['nothing', { a: 1, b: [{ c: 2 }] }, { a: 1, b: [{ c: 2 }] }, undefined],
  ['a new field', {}, { a: 1 }, { a: 1 }],
  ['a changed field', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 2 }],
  ['a field that is to go', { a: 1 }, { a: undefined }, { a: null }],
  ['a field that is to go, and is not there', {}, { a: undefined }, undefined],
  ['a list, as a whole', { a: [1, 2] }, { a: [1] }, { a: [1] }],
  ['inside of an object', { a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
  ['an object for something else', { a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
  ['nothing of what others wrote', { a: { b: 1, theirs: 2 }, theirs: 3 }, { a: { b: 1 } }, undefined],
])('the patch has %s', (_what, before, desired, patch) => {
  expect(statusDifference(before, desired)).toEqual(patch);
});
