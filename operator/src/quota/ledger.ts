import type { PermitRequest } from '@standin/contract';
import { z } from 'zod';

/**
 * Who may accept how many requests of one account in one month: the pure part of the quota (docs/adr/010-quota-blocks.md). A permit is
 * unused, used (`used`), or in a block; one in a block counts like a used one until its holder says that it never will be.
 */
const blockSchema = z.strictObject({
  id: z.string(),
  /** Name and process of its holder. */
  gateway: z.string(),
  instance: z.string(),
  /** Of the request that it answered. */
  serial: z.number().int().min(1),
  permits: z.number().int().min(1),
  /** When it was granted, milliseconds since the epoch; 0: not known. */
  grantedAtMs: z.number().int().min(0).default(0),
});
type Block = Readonly<z.infer<typeof blockSchema>>;

export const ledgerSchema = z.strictObject({
  /** Month, UTC. Never goes back, so that no month's quota is granted twice. */
  period: z.string(),
  /** Of closed blocks. */
  used: z.number().int().min(0),
  /** Open, the oldest first. */
  blocks: z.array(blockSchema).readonly(),
});
export type Ledger = Readonly<z.infer<typeof ledgerSchema>>;

export const newLedger = (period: string): Ledger => ({ period, used: 0, blocks: [] });

/** More than this are left behind only by hundreds of gateways that crashed; the oldest then count as used. */
const BLOCKS_MAX = 1_000;

/** Traffic that has just begun, and whose demand is not known yet, must not end with the first operator that restarts. */
const SHARE_MIN = 0.2;

/** Permits that are used, or may be without anybody asking again. */
export const committed = ({ used, blocks }: Ledger): number => blocks.reduce((sum, { permits }) => sum + permits, used);

/** The ledger of this month. Blocks of an earlier one may still be spent from: they count against that one's quota. */
export const inPeriod = (ledger: Ledger, period: string): Ledger =>
  period > ledger.period ? newLedger(period) : ledger;

/** What a process gives back, or never got. The same request again, or one that was overtaken, changes nothing that it should not. */
export const settle = (
  ledger: Ledger,
  request: Pick<PermitRequest, 'instance' | 'serial' | 'held' | 'closed'>,
): Ledger => {
  const { instance, serial, held, closed } = request;
  const usedOf = new Map(closed.map(({ block, used }) => [block, used]));
  const blocks: Block[] = [];
  let { used } = ledger;
  for (const block of ledger.blocks) {
    const isOwn = block.instance === instance;
    const spent = isOwn ? usedOf.get(block.id) : undefined;
    if (spent !== undefined) used += Math.min(spent, block.permits);
    // It had been told nothing of this block when it asked again.
    else if (!isOwn || block.serial >= serial || held.includes(block.id)) blocks.push(block);
  }
  return blocks.length === ledger.blocks.length ? ledger : { ...ledger, used, blocks };
};

export interface GrantTerms {
  /** The account's quota now. */
  readonly limit: number;
  /** Gateways that may want some: each grant takes at most half of its fair share of what is left. */
  readonly gateways: number;
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface Granted {
  readonly ledger: Ledger;
  readonly block: Block;
}

/** One block of at least one permit, and a fifth of what the gateway may get at most; or undefined when all are committed. */
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
