import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { HeaderPair, SignatureConfig } from '@standin/contract';
import { readClaim, type Claim, type NoClaim } from './read-claim.ts';
import { signingKey } from './signing-key.ts';

export interface SignedRequest {
  /** As received, in wire order. Names in any case, values as latin1. */
  readonly headers: readonly HeaderPair[];
  /** The raw bytes. */
  readonly body: Uint8Array;
  /** The time of the request in milliseconds since 1970. */
  readonly nowMs: number;
}

export type Verification =
  | {
      readonly ok: true;
      /** The provider's id of the delivery. Signed only with Standard Webhooks. Undefined if the scheme has none in a header. */
      readonly deliveryId: string | undefined;
      /** The index of the first secret that matches. */
      readonly secretIndex: number;
    }
  /** The reason is for metrics and tests. A response must not contain it. */
  | { readonly ok: false; readonly reason: NoClaim | 'stale' | 'mismatch' };

/** Returns the digest that a sender with this key sends. */
const expectedDigest = (claim: Claim, key: Buffer, body: Uint8Array): Buffer =>
  claim.kind === 'token'
    ? hash('sha256', key, 'buffer')
    : createHmac(claim.algorithm, key).update(claim.signedPrefix, 'latin1').update(body).digest();

/** Returns the digests of a claim. Tokens are hashed, so that their comparison takes the same time for all lengths. */
const claimedDigests = (claim: Claim): readonly Buffer[] =>
  claim.kind === 'token' ? [hash('sha256', Buffer.from(claim.token, 'latin1'), 'buffer')] : claim.digests;

const isStale = (claim: Claim, config: SignatureConfig, nowMs: number): boolean =>
  'toleranceMs' in config &&
  claim.kind === 'hmac' &&
  claim.timestampMs !== undefined &&
  Math.abs(nowMs - claim.timestampMs) > config.toleranceMs;

/**
 * Verifies the signature or the token of a request against each secret, without ending early: the time depends on the sizes of the
 * headers and the body, and on the number of secrets. Each secret takes one pass over the body. A secret that is unusable
 * (`signingKey`) matches nothing, but keeps its index.
 */
export const verify = (
  config: SignatureConfig,
  { headers, body, nowMs }: SignedRequest,
  secrets: readonly Uint8Array[],
): Verification => {
  const claim = readClaim(config, headers);
  if (typeof claim === 'string') return { ok: false, reason: claim };
  if (isStale(claim, config, nowMs)) return { ok: false, reason: 'stale' };
  const claimed = claimedDigests(claim);
  let secretIndex: number | undefined;
  for (const [index, secret] of secrets.entries()) {
    const key = signingKey(config.scheme, secret);
    if (key === undefined) continue;
    const expected = expectedDigest(claim, key, body);
    for (const digest of claimed) if (timingSafeEqual(digest, expected)) secretIndex ??= index;
  }
  if (secretIndex === undefined) return { ok: false, reason: 'mismatch' };
  return { ok: true, deliveryId: claim.kind === 'hmac' ? claim.deliveryId : undefined, secretIndex };
};
