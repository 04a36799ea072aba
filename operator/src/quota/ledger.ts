import type { PermitRequest } from '@standin/contract';
import { z } from 'zod';

/** A number of permits that one process of a gateway may use without another request. */
const blockSchema = z.strictObject({
  id: z.string(),
  /** The gateway that holds the block. `instance` identifies its process. */
  gateway: z.string(),
  instance: z.string(),
  /** Serial number of the request for which the block was granted. */
  serial: z.number().int().min(1),
  permits: z.number().int().min(1),
  /** The time when the block was granted, in milliseconds since the epoch, or 0 if unknown. */
  grantedAtMs: z.number().int().min(0).default(0),
});
type Block = Readonly<z.infer<typeof blockSchema>>;

/**
 * The permits of one account in one month (docs/internals/adr/010-quota-blocks.md). A permit is unused, used (`used`), or in a block. A
 * permit in a block counts as used until the block's holder reports that it will never use the permit.
 */
export const ledgerSchema = z.strictObject({
  /** The month in UTC, such as `2026-11`. It never decreases, so that no month's quota is granted twice. */
  period: z.string(),
  /** Used permits of closed blocks. */
  used: z.number().int().min(0),
  /** Open blocks, oldest first. */
  blocks: z.array(blockSchema).readonly(),
});
export type Ledger = Readonly<z.infer<typeof ledgerSchema>>;

export const newLedger = (period: string): Ledger => ({ period, used: 0, blocks: [] });

/**
 * Maximum number of open blocks of an account. It takes hundreds of crashed gateways to exceed this limit. The permits in the
 * oldest blocks then count as used.
 */
const BLOCKS_MAX = 1_000;

/**
 * The smallest grant, as a share of the gateway's maximum. New traffic has no measured demand yet, and must not be interrupted
 * when the operator restarts.
 */
const SHARE_MIN = 0.2;

/** Returns the number of permits that are used, or that gateways may use without another request. */
export const committed = ({ used, blocks }: Ledger): number => blocks.reduce((sum, { permits }) => sum + permits, used);

/** Returns the ledger for `period`, which is a month. Blocks from an earlier month may still be spent, and count against that month's quota. */
export const inPeriod = (ledger: Ledger, period: string): Ledger =>
  period > ledger.period ? newLedger(period) : ledger;

/**
 * Closes blocks that a process gives back, and removes those that it never received. Repeated and out-of-order requests have no
 * additional effect.
 */
export const settle = (
  ledger: Ledger,
  request: Pick<PermitRequest, 'instance' | 'serial' | 'held' | 'closed'>,
): Ledger => {
  const { instance, serial, held, closed } = request;
  const usedByBlock = new Map(closed.map(({ block, used }) => [block, used]));
  const blocks: Block[] = [];
  let { used } = ledger;
  for (const block of ledger.blocks) {
    const isOwn = block.instance === instance;
    const spent = isOwn ? usedByBlock.get(block.id) : undefined;
    if (spent !== undefined) used += Math.min(spent, block.permits);
    // Keeps blocks of other processes, blocks that this process holds, and blocks that it did not have yet when it sent the
    // request.
    else if (!isOwn || block.serial >= serial || held.includes(block.id)) blocks.push(block);
  }
  return blocks.length === ledger.blocks.length ? ledger : { ...ledger, used, blocks };
};

export interface GrantTerms {
  /** The account's current quota. */
  readonly limit: number;
  /**
   * Number of gateways that may want permits. Each grant takes at most half of the gateway's fair share of the remaining permits.
   */
  readonly gateways: number;
  readonly id: string;
  /** The current time in milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface Granted {
  readonly ledger: Ledger;
  readonly block: Block;
}

/**
 * Grants one block with at least one permit, and at least a fifth of the gateway's maximum. Returns undefined if all permits are
 * committed or none is wanted.
 */
export const grant = (
  ledger: Ledger,
  { gateway, instance, serial, want }: Pick<PermitRequest, 'gateway' | 'instance' | 'serial' | 'want'>,
  { limit, gateways, id, nowMs }: GrantTerms,
): Granted | undefined => {
  const left = limit - committed(ledger);
  if (left <= 0 || want <= 0) return undefined;
  const share = Math.max(1, Math.floor(left / (2 * Math.max(1, gateways))));
  const permits = Math.min(share, Math.max(want, Math.ceil(share * SHARE_MIN)));
  const block: Block = { id, gateway, instance, serial, permits, grantedAtMs: nowMs };
  return { ledger: folded({ ...ledger, blocks: [...ledger.blocks, block] }), block };
};

const folded = (ledger: Ledger): Ledger => {
  const [oldest, ...blocks] = ledger.blocks;
  if (oldest === undefined || ledger.blocks.length <= BLOCKS_MAX) return ledger;
  return { ...ledger, used: ledger.used + oldest.permits, blocks };
};
