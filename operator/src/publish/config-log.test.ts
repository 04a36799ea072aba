import type { ConfigObject } from '@standin/contract';
import { expect, test } from 'vitest';
import { ConfigLog } from './config-log.ts';

const account = (uid: string, name = uid): ConfigObject => ({
  kind: 'Account',
  uid,
  namespace: 'default',
  name,
  plan: 'Free',
});
const messages = (lines: readonly string[]): unknown[] =>
  lines.map((line) => {
    expect(line.indexOf('\n')).toBe(line.length - 1);
    return JSON.parse(line) as unknown;
  });

test('a delta is one transaction, and removes only existing objects', () => {
  const log = new ConfigLog(7);
  const seen: (readonly string[])[] = [];
  log.append({ put: [account('a')], remove: [] });
  log.follow((transaction) => seen.push(transaction));
  log.append({ put: [account('b')], remove: ['Account/a', 'Account/x'] });
  expect(seen.map(messages)).toEqual([
    [
      { type: 'begin', revision: '7.2', snapshot: false },
      { type: 'remove', key: 'Account/a' },
      { type: 'put', object: account('b') },
      { type: 'commit', revision: '7.2' },
    ],
  ]);
  expect([log.since('Account/a'), log.since('Account/b')]).toEqual([undefined, 2]);
});

test('later changes do not affect a snapshot', () => {
  const log = new ConfigLog(1);
  log.append({ put: [account('a', 'first'), account('b')], remove: [] });
  const snapshot = log.snapshot();
  log.append({ put: [account('a', 'second')], remove: ['Account/b'] });
  expect(messages(snapshot)).toEqual([
    { type: 'begin', revision: '1.1', snapshot: true },
    { type: 'put', object: account('a', 'first') },
    { type: 'put', object: account('b') },
    { type: 'commit', revision: '1.1' },
  ]);
});
