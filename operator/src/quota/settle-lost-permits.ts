import type { PermitAnswer, PermitRequest } from '@standin/contract';
import type { PermitFilter } from '@standin/logstore';
import type { Logger } from 'pino';
import { aboutObject } from '../about-object.ts';
import type { CachedObjects } from '../object-cache.ts';
import { forEachLedger } from './for-each-ledger.ts';
import { logUnreadable, type LedgerStore } from './ledger-store.ts';

/** Counts the requests in the log for each block of permits. */
export type CountPermits = (filter: PermitFilter) => Promise<ReadonlyMap<string, number>>;

export interface SettleLostParts {
  readonly store: Pick<LedgerStore, 'list'>;
  readonly cache: Pick<CachedObjects, 'get'>;
  readonly countPermits: CountPermits;
  /** Returns whether this gateway process has an open stream. */
  readonly isConnected: (gateway: string, instance: string) => boolean;
  /** Records the spent permits of blocks. */
  readonly request: (request: PermitRequest) => Promise<PermitAnswer>;
  readonly logger: Logger;
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * Only blocks that were granted within this time are settled. A project may keep its requests for only a day, so older requests
 * may be missing from the log.
 */
const COUNTABLE_MS = 20 * 3_600_000;
/**
 * Allowed difference between ClickHouse's clock and this operator's clock at the time of the grant. The allowance is large because
 * the permits of missed requests would be granted again, and because a large allowance costs little.
 */
const CLOCK_SKEW_MS_MAX = 48 * 3_600_000;

/**
 * Settles the blocks of a process that can no longer accept requests and whose rows are all in the log. The log shows how many
 * permits the process spent. The remaining permits are given back. Rejects if the process still has a stream, the rows cannot be
 * counted, or the result cannot be written. The accounts of other namespaces are still settled.
 */
export const settleLost = async (instance: string, parts: SettleLostParts): Promise<void> => {
  const { store, cache, countPermits, isConnected, request, logger, clock } = parts;
  await forEachLedger(await store.list(logUnreadable(logger, cache)), cache, async ([accountUid, { ledger }]) => {
    const held = ledger.blocks.filter((block) => block.instance === instance);
    const blocks = held.filter(({ grantedAtMs }) => clock() - grantedAtMs < COUNTABLE_MS);
    const [oldest] = blocks;
    if (oldest === undefined) return;
    const { gateway, grantedAtMs } = oldest;
    if (isConnected(gateway, instance)) throw new Error('the gateway process still has an open stream');
    const since = new Date(grantedAtMs - CLOCK_SKEW_MS_MAX);
    const counted = await countPermits({ accountUid, blocks: blocks.map(({ id }) => id), since });
    const closed = blocks.map(({ id }) => ({ block: id, used: counted.get(id) ?? 0 }));
    await request({ gateway, instance, account: accountUid, serial: 0, want: 0, held: [], closed });
    logger.info(
      { ...aboutObject(cache, accountUid), accountUid, gateway, instance, closed },
      'permits of a stopped gateway settled',
    );
  });
};
