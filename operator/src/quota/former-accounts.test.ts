import { expect, test } from 'vitest';
import { FormerAccounts } from './former-accounts.ts';

test('a namespace that deletes many accounts does not displace those of others', () => {
  const former = new FormerAccounts();
  former.add('quiet', 'team-a');
  for (let index = 0; index <= 1_000; index += 1) former.add(`busy-${index}`, 'team-b');
  const known = ['quiet', 'busy-0', 'busy-1', 'busy-1000', 'other'].map((uid) => former.namespace(uid));
  expect(known).toEqual(['team-a', undefined, 'team-b', 'team-b', undefined]);
});
