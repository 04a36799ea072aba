import { expect, test } from 'vitest';
import { FAKE_NAMES, fakeValue } from './fake.ts';
import { RandomSequence } from './random-sequence.ts';

const valueFor = (name: string, seed: number | string) => fakeValue(name, new RandomSequence(String(seed)));

test.each([...FAKE_NAMES])('%s is short data that depends only on the seed', (name) => {
  const values = Array.from({ length: 20 }, (_, seed) => valueFor(name, seed));
  for (const value of values) {
    expect(['string', 'number', 'boolean']).toContain(typeof value);
    expect(String(value).length).toBeGreaterThan(0);
    expect(String(value).length).toBeLessThan(1_000);
  }
  expect(Array.from({ length: 20 }, (_, seed) => valueFor(name, seed))).toEqual(values);
  expect(new Set(values).size).toBeGreaterThan(1);
});

test.each(['person.toString', 'helpers.fake', '__proto__.x', 'constructor.name', '', 'person', 'date.past'])(
  '%j is refused',
  (name) => {
    expect(() => valueFor(name, 1)).toThrow('fake() has no data named');
  },
);

test('has as many values as the data allows', () => {
  const values = Array.from({ length: 200_000 }, (_, index) => valueFor('number.int', `request ${index}`));
  expect(new Set(values).size).toBe(values.length);
});
