import { expect, test } from 'vitest';
import { make } from '../translate/translator.testing.ts';
import { forEachLedger } from './for-each-ledger.ts';

/** Calls `work` for the accounts of these namespaces. Returns the order. */
const order = async (counts: readonly number[], fails: (uid: string) => boolean) => {
  const uids = counts.flatMap((count, team) => Array.from({ length: count }, (_, index) => `${team}-${index}`));
  const objects = new Map(
    uids.map((uid) => [uid, make('Account', uid, {}, { uid, namespace: `team-${uid.split('-')[0]}` })]),
  );
  const stored = { ledger: { period: '2026-11', used: 0, blocks: [] }, version: '1' };
  const seen: string[] = [];
  const work = (uid: string): Promise<void> => {
    seen.push(uid);
    return fails(uid) ? Promise.reject(new Error(uid)) : Promise.resolve();
  };
  const ended = forEachLedger(
    uids.map((uid) => [uid, stored] as const),
    objects,
    ([uid]) => work(uid),
  );
  const failure = await ended.then(() => undefined, String);
  return { seen, failure };
};

test('namespaces take turns', async () => {
  expect(await order([4, 1, 2], () => false)).toEqual({
    seen: ['0-0', '1-0', '2-0', '0-1', '2-1', '0-2', '0-3'],
    failure: undefined,
  });
});

test('a failure leaves out only the other ledgers of its namespace', async () => {
  expect(await order([3, 2], (uid) => uid === '0-1')).toEqual({
    seen: ['0-0', '1-0', '0-1', '1-1'],
    failure: 'Error: 0-1',
  });
});

test('many failures end the work', async () => {
  const { seen } = await order(
    Array.from({ length: 50 }, () => 3),
    () => true,
  );
  expect(seen).toHaveLength(10);
});
