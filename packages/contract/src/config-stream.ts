import { z } from 'zod';
import { configObjectSchema } from './config-objects.ts';

/**
 * The stream between operator and gateways (design §6): HTTP/1.1 over mutual TLS, one JSON message per line.
 *
 *   GET  /v1/config?gateway=NAME&instance=UUID&maxStalenessMs=N
 *                                                the leader answers 200 with a snapshot, then deltas, for as long as both live
 *   POST /v1/acks                                body: one `Ack`; answers 204
 *   POST /v1/permits, /v1/usage                  blocks of a quota's permits: see quota.ts
 *   DELETE /v1/gateways/NAME?instance=UUID       a gateway that shuts down says goodbye; answers 204
 *
 * A snapshot or delta is a transaction: `begin`, any number of `put` and `remove`, `commit`. A gateway builds the new table
 * fully, swaps it, then acknowledges the revision; one that revokes a key only when it is on its disk, others are written within a
 * second. A snapshot replaces everything.
 * It acknowledges again at every heartbeat: an operator that hears nothing for `LIMITS.streamSilenceMsMax` closes the stream. 409
 * answers an acknowledgement of another term, or of a gateway without a stream: it connects anew.
 * `maxStalenessMs` above 0: this gateway refuses all requests so long after it sent the last acknowledgement that was answered with 204, and
 * the operator, which hears an acknowledgement later than it is sent, does not wait for it any more so long after the last one.
 * A follower answers every path with 503 and a `NotLeader` body.
 */

/**
 * The name in the operator's certificate. Gateways dial addresses, not names, so they verify this one (TLS servername),
 * whatever address answers. A gateway's certificate has the common name `STREAM_CLIENT_NAME`.
 */
export const STREAM_SERVER_NAME = 'standin-operator';
export const STREAM_CLIENT_NAME = 'standin-gateway';

/** `EPOCH.NUMBER`: the leader's epoch (grows with every leader), and a number that grows with every transaction. */
export interface Revision {
  readonly epoch: number;
  readonly number: number;
}

const revisionText = z.string().regex(/^\d+\.\d+$/);

export const formatRevision = (revision: Revision): string => `${revision.epoch}.${revision.number}`;

export const parseRevision = (text: string): Revision => {
  const [epoch, number] = revisionText.parse(text).split('.').map(Number) as [number, number];
  return { epoch, number };
};

/** Negative when `a` is older than `b`. */
export const compareRevisions = (a: Revision, b: Revision): number => a.epoch - b.epoch || a.number - b.number;

export const streamMessageSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('begin'), revision: revisionText, snapshot: z.boolean() }),
  z.strictObject({ type: z.literal('put'), object: configObjectSchema }),
  z.strictObject({ type: z.literal('remove'), key: z.string() }),
  z.strictObject({ type: z.literal('commit'), revision: revisionText }),
  /** Sent every `LIMITS.streamHeartbeatMs`, and acknowledged, so that both sides notice a dead connection. */
  z.strictObject({ type: z.literal('heartbeat'), revision: revisionText }),
  /** An account's permits run out elsewhere: who has some left gives them back (quota.ts). Between transactions, and not acknowledged. */
  z.strictObject({ type: z.literal('recall'), account: z.string() }),
]);
export type StreamMessage = z.infer<typeof streamMessageSchema>;

/** An object that a gateway could not use; its last good version, if any, stays in force there. */
export const rejectedObjectSchema = z.strictObject({ key: z.string(), message: z.string().max(1_000) });
export type RejectedObject = z.infer<typeof rejectedObjectSchema>;

export const ackSchema = z.strictObject({
  gateway: z.string().min(1).max(253),
  instance: z.string().min(1).max(64),
  revision: revisionText,
  /** All objects that this gateway rejects at this revision, not only the new ones. */
  rejected: z.array(rejectedObjectSchema).max(1_000),
});
export type Ack = z.infer<typeof ackSchema>;

export const notLeaderSchema = z.object({ error: z.literal('not_leader'), leader: z.string().nullable() });
export type NotLeader = z.infer<typeof notLeaderSchema>;
