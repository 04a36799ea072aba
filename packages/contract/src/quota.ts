import { z } from 'zod';
import { LIMITS } from './limits.ts';

/**
 * How gateways come by permits (docs/adr/010-quota-blocks.md): beside the config stream, on the same connection,
 *
 *   POST /v1/permits   body: one `PermitRequest`; the leader answers 200 with a `PermitAnswer`, once the ledger is written
 *
 *   POST /v1/usage     body: one `UsageReport`, now and then; answers 204. For people to see: nothing is decided by it
 *
 *   POST /v1/drained   body: one `DrainedReport`; answers 204 once what that process held is settled, by what the log has of it
 *
 * 409: of a gateway without a stream. 503 with `NotLeader`: of a follower. Anything else but 200: nothing is known, ask again.
 */

/** A calendar month, UTC: `2026-11`. */
export const periodOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

/** When the period is over, milliseconds since the epoch. */
export const periodEndMs = (period: string): number =>
  Date.UTC(Number(period.slice(0, 4)), Number(period.slice(5, 7)), 1);

const period = z.string().regex(/^\d{4}-\d{2}$/);
const blockId = z.string().min(1).max(64);
const permits = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

export const permitRequestSchema = z.strictObject({
  gateway: z.string().min(1).max(253),
  instance: z.string().min(1).max(64),
  /** The account's uid. */
  account: z.string().min(1).max(64),
  /** Grows with every request of this process about this account: one that was overtaken closes nothing that it does not know of. */
  serial: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
  /** Permits for the next `LIMITS.quotaBlockDemandMs`; 0: none are wanted. */
  want: z.number().int().min(0).max(LIMITS.quotaBlockPermitsMax),
  /** Blocks that this process spends from. Earlier ones that are named neither here nor below never reached it. */
  held: z.array(blockId).max(LIMITS.quotaBlocksNamedMax),
  /** Blocks that it spends nothing from any more, and how much it had spent. The rest goes back. */
  closed: z.array(z.strictObject({ block: blockId, used: permits })).max(LIMITS.quotaBlocksNamedMax),
});
export type PermitRequest = Readonly<z.infer<typeof permitRequestSchema>>;

export const permitAnswerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('granted'), block: blockId, period, permits: permits.min(1) }),
  /** Every permit of the period is granted. `used` counts those in blocks that others hold. */
  z.strictObject({ kind: z.literal('exhausted'), period, limit: permits, used: permits }),
  /** None was wanted; what was returned is written down. */
  z.strictObject({ kind: z.literal('noted') }),
  /** The operator knows of no quota for this account: the configuration is about to say so. */
  z.strictObject({ kind: z.literal('no_quota') }),
]);
export type PermitAnswer = Readonly<z.infer<typeof permitAnswerSchema>>;

export const usageReportSchema = z.strictObject({
  gateway: z.string().min(1).max(253),
  instance: z.string().min(1).max(64),
  accounts: z
    .array(
      z.strictObject({
        account: z.string().min(1).max(64),
        /** Those that it spends from, and how much it has spent. */
        blocks: z.array(z.strictObject({ block: blockId, used: permits })).max(LIMITS.quotaBlocksNamedMax),
      }),
    )
    .max(LIMITS.quotaReportAccountsMax),
});
export type UsageReport = Readonly<z.infer<typeof usageReportSchema>>;

export const drainedReportSchema = z.strictObject({
  /** A process that can accept nothing any more, and whose every record is in the log. */
  instance: z.string().min(1).max(64),
});
export type DrainedReport = Readonly<z.infer<typeof drainedReportSchema>>;
