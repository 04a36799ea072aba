import { expect, test } from 'vitest';
import { ownMember } from './own-member.ts';

test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty', 'b'])(
  '%s is no member of another object',
  (name) => {
    expect(ownMember({ a: 1 }, name)).toBeUndefined();
  },
);

test('a member can have the name of an inherited one', () => {
  const members = JSON.parse('{"__proto__": 1, "constructor": 2, "a": 3}') as Record<string, number>;
  expect(['__proto__', 'constructor', 'a'].map((name) => ownMember(members, name))).toEqual([1, 2, 3]);
});
