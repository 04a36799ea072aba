import { z } from 'zod';
import type { Kind } from './api-group.ts';
import { LIMITS } from './limits.ts';

/**
 * How the dashboard learns whether a status names the identity of its object (docs/internals/adr/024-identities.md). Users may be
 * able to edit a status, so the leader compares all four values with its own, verified state:
 *
 *   POST /v1/identities       body: one `IdentityQuestion`; the response is 200 and `IdentityAnswer`
 */

/** Kinds with data that outlives the object: the log, the default URI, the ledger of a quota. */
const IDENTIFIED_KINDS = ['Account', 'Project'] as const satisfies readonly Kind[];
type IdentifiedKind = (typeof IDENTIFIED_KINDS)[number];
export const isIdentified = (kind: Kind): kind is IdentifiedKind =>
  (IDENTIFIED_KINDS as readonly Kind[]).includes(kind);

const name = z.string().min(1).max(253);

/** The identity that an object is said to have. */
export const claimedIdentitySchema = z.strictObject({
  kind: z.enum(IDENTIFIED_KINDS),
  namespace: name,
  name,
  uid: z.string().min(1).max(LIMITS.identityLengthMax),
});
export type ClaimedIdentity = Readonly<z.infer<typeof claimedIdentitySchema>>;

export const identityQuestionSchema = z.strictObject({
  claimed: z.array(claimedIdentitySchema).max(LIMITS.identitiesAskedMax).readonly(),
});

export const identityAnswerSchema = z.strictObject({
  /** Whether each object has the identity, in the order of the question. */
  held: z.array(z.boolean()).max(LIMITS.identitiesAskedMax).readonly(),
});
export type IdentityAnswer = Readonly<z.infer<typeof identityAnswerSchema>>;
