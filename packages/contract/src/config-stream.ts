import { z } from 'zod';
import { configObjectSchema } from './config-objects.ts';
import { LIMITS } from './limits.ts';

/**
 * The stream between the operator and the gateways (ADR 002): HTTP/1.1 over mutual TLS, with one JSON message per line.
 *
 *   GET  /v1/config?gateway=NAME&instance=UUID&maxStalenessMs=N&features=A,B
 *                                                the leader responds with 200, a snapshot, then deltas, until either side closes
 *                                                the stream
 *   POST /v1/acks?features=A,B
 *                                                body: one `Ack`; the response is 204
 *   POST /v1/permits, /v1/usage, /v1/drained     blocks of a quota's permits: see quota.ts
 *   POST /v1/refusals, GET /v1/refusals          counts of refused requests: see refusals.ts
 *   POST /v1/settled, GET /v1/settled            whether the log is complete: see settled.ts
 *   DELETE /v1/gateways/NAME?instance=UUID&undelivered=true
 *                                                goodbye message from a gateway that is shutting down; the response is 204.
 *                                                `undelivered` means that its disk has requests that are not in ClickHouse
 *
 * A snapshot or delta is a transaction: `begin`, any number of `put`, `remove`, `secret` and `forget`, `commit`. A gateway builds
 * the complete new table, swaps it in, and then acknowledges the revision. It acknowledges a revision that revokes a key only after
 * the revision is on its disk. It writes other revisions to disk within a second. A snapshot replaces everything.
 *
 * The values of Secrets are in `secret` messages, not in objects, so that they are not on a gateway's disk. Endpoints refer
 * to them by id, in the same transaction or later. A gateway that starts from its disk has no secrets until an operator sends a
 * snapshot.
 *
 * A gateway acknowledges again at every heartbeat. After the first acknowledgement, which may take a minute, an operator that
 * receives no other one for `LIMITS.streamSilenceMsMax` closes the stream. If the acknowledged revision is another leader's, or the
 * gateway has no stream, the response is 409, and the gateway reconnects.
 *
 * With `maxStalenessMs` above 0, the gateway rejects all requests when this time has passed since it sent the last acknowledgement
 * whose response was 204. The operator stops waiting for the gateway when the same time has passed since the operator received the
 * last acknowledgement. The operator's time ends later, because an acknowledgement is received after it is sent.
 *
 * An acknowledgement says which requests are not yet in ClickHouse with their response, including those that are still running
 * (`Undelivered`). It names only the projects with a request that takes longer than usual, so it stays small. It also returns the time of
 * the last heartbeat, after which the gateway found this out.
 *
 * `features` are the `CONFIG_FEATURES` that the gateway supports. An endpoint that needs another feature is sent with the action
 * `Withheld`, and the operator treats it as rejected by the gateway.
 *
 * A follower responds to every path with 503 and a `NotLeader` body.
 */

/**
 * The name in the operator's certificate. Gateways dial addresses, not names, so they verify this name (TLS servername)
 * regardless of the address. A gateway's certificate has the common name `STREAM_CLIENT_NAME`. The dashboard's has
 * `STREAM_DASHBOARD_NAME`, with which it can only ask questions.
 */
export const STREAM_SERVER_NAME = 'standin-operator';
export const STREAM_CLIENT_NAME = 'standin-gateway';
export const STREAM_DASHBOARD_NAME = 'standin-dashboard';

/**
 * A revision, written as `EPOCH.NUMBER`. The epoch increases with every leader, and the number increases with every transaction.
 */
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

/** Returns a negative number if `a` is older than `b`. */
export const compareRevisions = (a: Revision, b: Revision): number => a.epoch - b.epoch || a.number - b.number;

const secretValue = z
  .base64()
  .min(1)
  .max(4 * Math.ceil(LIMITS.secretBytesMax / 3));

export const streamMessageSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('begin'), revision: revisionText, snapshot: z.boolean() }),
  z.strictObject({ type: z.literal('put'), object: configObjectSchema }),
  z.strictObject({ type: z.literal('remove'), key: z.string() }),
  /** A value of a Secret, in Base64. Kept in memory only, and never logged. */
  z.strictObject({ type: z.literal('secret'), id: z.string(), value: secretValue }),
  /** Deletes a secret, because no endpoint refers to it. */
  z.strictObject({ type: z.literal('forget'), id: z.string() }),
  z.strictObject({ type: z.literal('commit'), revision: revisionText }),
  /**
   * Sent every `LIMITS.streamHeartbeatMs` and acknowledged, so that both sides notice a dead connection. Also sent when the operator
   * needs to know what is undelivered.
   */
  z.strictObject({
    type: z.literal('heartbeat'),
    revision: revisionText,
    /** The time when it was sent, in milliseconds of the operator's monotonic clock. */
    sentMs: z.number().min(0),
  }),
  /**
   * Sent when other gateways run out of an account's permits. A gateway that has permits left returns them (see quota.ts). A recall
   * is sent between transactions and is not acknowledged.
   */
  z.strictObject({ type: z.literal('recall'), account: z.string() }),
  /** Asks for a report of the project's refused requests (see refusals.ts). */
  z.strictObject({ type: z.literal('refusals'), ask: z.string().min(1).max(64), project: z.string() }),
  /** Asks for a report of each project as soon as the log has what the gateway has accepted (see settled.ts). */
  z.strictObject({
    type: z.literal('settle'),
    ask: z.string().min(1).max(64),
    projects: z.array(z.string().min(1).max(64)).max(LIMITS.settlesMax),
  }),
]);
export type StreamMessage = z.infer<typeof streamMessageSchema>;

/** An object that a gateway could not use. The gateway keeps the object's last valid version, if there is one. */
export const rejectedObjectSchema = z.strictObject({ key: z.string(), message: z.string().max(1_000) });
export type RejectedObject = z.infer<typeof rejectedObjectSchema>;

/** What a gateway has received and ClickHouse does not have yet. */
const undeliveredSchema = z.strictObject({
  /**
   * The age of the oldest such request, in milliseconds, among the projects that neither `projects` nor `namespaces` names. 0 if there
   * is none.
   */
  ageMs: z.number().min(0),
  /** Whether files in quarantine may belong to any project. */
  hasQuarantine: z.boolean(),
  projects: z
    .array(z.strictObject({ uid: z.string(), ageMs: z.number().min(0), hasQuarantine: z.boolean() }))
    .max(LIMITS.undeliveredProjectsMax),
  /**
   * The namespaces with more such projects than their share of `projects`. The age is that of the oldest request among the projects of
   * the namespace that `projects` does not name. Absent if there are none.
   */
  namespaces: z
    .array(z.strictObject({ namespace: z.string(), ageMs: z.number().min(0), hasQuarantine: z.boolean() }))
    .max(LIMITS.undeliveredProjectsMax)
    .optional(),
});
export type Undelivered = z.infer<typeof undeliveredSchema>;

export const ackSchema = z.strictObject({
  gateway: z.string().min(1).max(253),
  instance: z.string().min(1).max(64),
  revision: revisionText,
  /** All objects that this gateway rejects at this revision, including those reported before. */
  rejected: z.array(rejectedObjectSchema).max(LIMITS.rejectedObjectsMax),
  /** Absent if it is unknown, for example because earlier processes may have left requests on the disk. */
  undelivered: undeliveredSchema.optional(),
  /** `sentMs` of the last heartbeat that the gateway had when it found out what is undelivered. Absent before the first heartbeat. */
  heartbeatMs: z.number().min(0).optional(),
});
export type Ack = z.infer<typeof ackSchema>;

/** The features that a gateway supports. May include features of newer versions. */
export const featuresQuery = z
  .string()
  .max(1_000)
  .default('')
  .transform((text) => text.split(','));

/** The query parameters of an acknowledgement. */
export const ackQuerySchema = z.object({ features: featuresQuery });

export const notLeaderSchema = z.object({ error: z.literal('not_leader'), leader: z.string().nullable() });
export type NotLeader = z.infer<typeof notLeaderSchema>;
