import { expect, test } from 'vitest';
import { FAKE_NAMES, fakeValue } from './fake.ts';

test.each([...FAKE_NAMES])('%s is short data that depends only on the seed', (name) => {
  const values = Array.from({ length: 20 }, (_, seed) => fakeValue(name, seed));
  for (const value of values) {
    expect(['string', 'number', 'boolean']).toContain(typeof value);
    expect(String(value).length).toBeGreaterThan(0);
    expect(String(value).length).toBeLessThan(1_000);
  }
  expect(Array.from({ length: 20 }, (_, seed) => fakeValue(name, seed))).toEqual(values);
  expect(new Set(values).size).toBeGreaterThan(1);
});

test.each(['person.toString', 'helpers.fake', '__proto__.x', 'constructor.name', '', 'person', 'date.past'])(
  '%j is refused',
  (name) => {
    expect(() => fakeValue(name, 1)).toThrow('fake() has no data named');
  },
);
