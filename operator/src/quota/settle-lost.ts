import type { PermitAnswer, PermitRequest } from '@standin/contract';
import type { PermitFilter } from '@standin/logstore';
import type { Logger } from 'pino';
import { unreadableIsLogged, type LedgerStore } from './ledger-store.ts';

/** How many requests the log has of each block of permits. */
export type CountPermits = (filter: PermitFilter) => Promise<ReadonlyMap<string, number>>;

export interface SettleLostParts {
  readonly store: Pick<LedgerStore, 'list'>;
  readonly countPermits: CountPermits;
  /** Whether this process of a gateway has a stream. */
  readonly isConnected: (gateway: string, instance: string) => boolean;
  /** Writes down what was spent of blocks. */
  readonly ask: (request: PermitRequest) => Promise<PermitAnswer>;
  readonly logger: Logger;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** A project may keep its requests for a day: what is older than this may be missing in the log. */
const COUNTABLE_MS = 20 * 3_600_000;
/** Between ClickHouse's clock and this operator's at the grant. Wide, as what is missed would be granted again; it costs little. */
const CLOCK_SKEW_MS_MAX = 48 * 3_600_000;

/**
 * A process can accept nothing any more, and its every record is in the log: that says how much it spent of what it held, the rest
 * goes back. Rejects when that cannot be counted or written now.
 */
export const settleLost = async (instance: string, parts: SettleLostParts): Promise<void> => {
  const { store, countPermits, isConnected, ask, logger, clock } = parts;
  for (const [accountUid, ledger] of await store.list(unreadableIsLogged(logger))) {
    const held = ledger.blocks.filter((block) => block.instance === instance);
    const blocks = held.filter(({ grantedAtMs }) => clock() - grantedAtMs < COUNTABLE_MS);
    const [oldest] = blocks;
    if (oldest === undefined) continue;
    const { gateway, grantedAtMs } = oldest;
    if (isConnected(gateway, instance)) throw new Error('this process of the gateway still has a stream');
    const since = new Date(grantedAtMs - CLOCK_SKEW_MS_MAX);
    const counted = await countPermits({ accountUid, blocks: blocks.map(({ id }) => id), since });
    const closed = blocks.map(({ id }) => ({ block: id, used: counted.get(id) ?? 0 }));
    await ask({ gateway, instance, account: accountUid, serial: 0, want: 0, held: [], closed });
    logger.info({ accountUid, gateway, instance, closed }, 'what a lost gateway held is settled');
  }
};
