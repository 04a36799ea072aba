import { pino } from 'pino';
import { expect, test } from 'vitest';
import { MemoryLedgers } from './memory-ledgers.testing.ts';
import { OrphanedLedgers } from './orphaned-ledgers.ts';

const THIS_MONTH = new Date().toISOString().slice(0, 7);
const EARLIER = '2026-01';
const logger = pino({ level: 'silent' });

/** Runs the controller with a store that calls `beforeRemove` when a removal is on its way. */
const removeOrphans = async (store: MemoryLedgers, beforeRemove: () => Promise<unknown>): Promise<void> => {
  const removed = Promise.withResolvers<undefined>();
  const slow = {
    list: () => store.list(),
    remove: async (accountUid: string, version: string) => {
      await beforeRemove();
      await store.remove(accountUid, version);
      removed.resolve(undefined);
    },
  };
  new OrphanedLedgers({ store: slow, cache: new Map(), logger }).start();
  await removed.promise;
};

test('the ledger of a deleted account is removed in a later month', async () => {
  const store = new MemoryLedgers();
  await store.write('gone', { period: EARLIER, used: 5, blocks: [] }, undefined);
  await store.write('current', { period: THIS_MONTH, used: 5, blocks: [] }, undefined);
  await removeOrphans(store, () => Promise.resolve());
  expect([...store.ledgers.keys()]).toEqual(['current']);
});

// Otherwise, the month's quota would be granted twice.
test('a ledger that is written again while its removal is on its way is kept', async () => {
  const store = new MemoryLedgers();
  const version = await store.write('back', { period: EARLIER, used: 5, blocks: [] }, undefined);
  const spent = { period: THIS_MONTH, used: 100, blocks: [] };
  await removeOrphans(store, () => store.write('back', spent, version));
  expect(store.ledgers.get('back')?.ledger).toEqual(spent);
});
