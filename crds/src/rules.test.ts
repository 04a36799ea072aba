import { expect, it } from 'vitest';
import { immutable, lacks, matches } from './rules.ts';

interface Spec {
  readonly name: string;
  readonly days?: number | undefined;
  readonly from?: { readonly id: string } | undefined;
}

it.each<[string, Spec, Spec, boolean]>([
  ['the same values', { name: 'a', days: 1, from: { id: 'x' } }, { name: 'a', days: 1, from: { id: 'x' } }, true],
  ['another name', { name: 'a' }, { name: 'b' }, false],
  ['another number', { name: 'a', days: 1 }, { name: 'a', days: 2 }, false],
  ['another part', { name: 'a', from: { id: 'x' } }, { name: 'a', from: { id: 'y' } }, false],
  ['an added field', { name: 'a' }, { name: 'a', days: 1 }, false],
  ['a removed field', { name: 'a', from: { id: 'x' } }, { name: 'a' }, false],
])('fields that must not change: %s', (_, before, after, isAllowed) => {
  const rules = immutable<Spec>(['name', 'days', 'from'], new Set(['days', 'from']), 'must not change');
  expect(rules.every(({ holds }) => holds(after, before))).toBe(isAllowed);
});

it('a pattern applies to the whole string, and a forbidden one to each part', () => {
  const holds = (text: string) => [matches('[a-z]+|1', '').holds(text), lacks('[0-9]', '').holds(text)];
  expect([holds('abc'), holds('1'), holds('a1'), holds('')]).toEqual([
    [true, true],
    [true, false],
    [false, false],
    [false, true],
  ]);
});
