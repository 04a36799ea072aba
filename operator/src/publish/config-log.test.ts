import { formatRevision, type ConfigObject } from '@standin/contract';
import { expect, test } from 'vitest';
import { ConfigLog } from './config-log.ts';

const account = (uid: string, name = uid): ConfigObject => ({
  kind: 'Account',
  uid,
  namespace: 'default',
  name,
  plan: 'Free',
});
const messages = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

test('a delta is one transaction, and removes only what was there', () => {
  const log = new ConfigLog(7);
  const seen: string[] = [];
  log.append({ put: [account('a')], remove: [] });
  log.follow(({ text, revision }) => seen.push(`${formatRevision(revision)}\n${text}`));
  log.append({ put: [account('b')], remove: ['Account/a', 'Account/x'] });
  expect(seen.map((text) => messages(text.slice(text.indexOf('\n') + 1)))).toEqual([
    [
      { type: 'begin', revision: '7.2', snapshot: false },
      { type: 'remove', key: 'Account/a' },
      { type: 'put', object: account('b') },
      { type: 'commit', revision: '7.2' },
    ],
  ]);
  expect([log.since('Account/a'), log.since('Account/b')]).toEqual([undefined, 2]);
});

test('a snapshot is what was there when it was taken, whatever is appended while it is read', () => {
  const log = new ConfigLog(1);
  log.append({ put: [account('a', 'first'), account('b')], remove: [] });
  const snapshot = log.snapshot();
  log.append({ put: [account('a', 'second')], remove: ['Account/b'] });
  expect(messages([...snapshot].join(''))).toEqual([
    { type: 'begin', revision: '1.1', snapshot: true },
    { type: 'put', object: account('a', 'first') },
    { type: 'put', object: account('b') },
    { type: 'commit', revision: '1.1' },
  ]);
});

test('a large snapshot comes in pieces that are whole together', () => {
  const log = new ConfigLog(1);
  const objects = Array.from({ length: 5_000 }, (_, index) => account(`uid-${index}`, 'n'.repeat(200)));
  log.append({ put: objects, remove: [] });
  const pieces = [...log.snapshot()];
  expect(pieces.length).toBeGreaterThan(3);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(300_000);
  expect(messages(pieces.join(''))).toHaveLength(objects.length + 2);
});
