import { z } from 'zod';
import { LIMITS } from './limits.ts';

/**
 * How gateways get permits (docs/internals/adr/010-quota-blocks.md). The requests go to the server of the config stream:
 *
 *   POST /v1/permits   body: one `PermitRequest`; the leader writes the ledger, then responds with 200 and a `PermitAnswer`
 *
 *   POST /v1/usage     body: one `UsageReport`, at intervals; the response is 204. Used only for display
 *
 *   POST /v1/drained   body: one `DrainedReport`; the response is 204 after the permits of the process are settled from the log
 *
 * 409 means that the gateway has no stream. 503 with `NotLeader` means that the operator is a follower. After any other response to
 * a permit request except 200, the result is unknown and the gateway asks again.
 */

/** Returns the calendar month in UTC, such as `2026-11`. */
export const periodAt = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

/** Returns the end of the period in milliseconds since the epoch. */
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
  /**
   * Increases with every request from this process about this account, so that a delayed request does not close blocks that were
   * granted after it was sent.
   */
  serial: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
  /** The number of permits needed for the next `LIMITS.quotaBlockDemandMs`. 0 if none are needed. */
  want: z.number().int().min(0).max(LIMITS.quotaBlockPermitsMax),
  /**
   * Blocks that this process is spending from. Blocks that were granted to it earlier, and are neither here nor in `closed`, never
   * reached it.
   */
  held: z.array(blockId).max(LIMITS.quotaBlocksNamedMax),
  /**
   * Blocks that this process no longer spends from, and how many of their permits it spent. The other permits return to the
   * account.
   */
  closed: z.array(z.strictObject({ block: blockId, used: permits })).max(LIMITS.quotaBlocksNamedMax),
});
export type PermitRequest = Readonly<z.infer<typeof permitRequestSchema>>;

export const permitAnswerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('granted'), block: blockId, period, permits: permits.min(1) }),
  /** Every permit in the period has been granted. `used` includes permits in blocks that other processes hold. */
  z.strictObject({ kind: z.literal('exhausted'), period, limit: permits, used: permits }),
  /** The request wanted no permits. The permits that it returned are recorded. */
  z.strictObject({ kind: z.literal('noted') }),
  /** The operator knows of no quota for this account. A configuration without the quota will follow. */
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
        /** Blocks that the operator considers open, and how many of their permits the process has spent. */
        blocks: z.array(z.strictObject({ block: blockId, used: permits })).max(LIMITS.quotaBlocksNamedMax),
      }),
    )
    .max(LIMITS.quotaReportAccountsMax),
});
export type UsageReport = Readonly<z.infer<typeof usageReportSchema>>;

export const drainedReportSchema = z.strictObject({
  /** A process that can no longer accept requests, and whose accepted requests are all in the log. */
  instance: z.string().min(1).max(64),
});
export type DrainedReport = Readonly<z.infer<typeof drainedReportSchema>>;
