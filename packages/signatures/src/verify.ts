import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { HeaderPair, SignatureConfig } from '@standin/contract';
import { readClaim, type Claim, type NoClaim } from './read-claim.ts';
import { signingKey } from './signing-key.ts';

export interface SignedHead {
  /** As received, in wire order. Names in any case, values as latin1. */
  readonly headers: readonly HeaderPair[];
  /** The time of the request in milliseconds since 1970. */
  readonly nowMs: number;
}

interface Verified {
  readonly ok: true;
  /** The provider's id of the delivery. Signed only with Standard Webhooks. Undefined if the scheme has none in a header. */
  readonly deliveryId: string | undefined;
  /** The index of the first secret that matches. */
  readonly secretIndex: number;
}

interface Unverified {
  readonly ok: false;
  /** The reason is for metrics and tests. A response must not contain it. */
  readonly reason: NoClaim | 'stale' | 'mismatch';
}

export type Verification = Verified | Unverified;

/** Verifies one request while its body arrives, so that no call hashes more than one chunk. */
export interface Verifier {
  /** Takes the next bytes of the raw body. */
  readonly update: (bytes: Uint8Array) => void;
  /** Returns the result after the last bytes. Must be called only once. */
  readonly finish: () => Verification;
}

const isStale = (claim: Claim, config: SignatureConfig, nowMs: number): boolean =>
  'toleranceMs' in config &&
  claim.kind === 'hmac' &&
  claim.timestampMs !== undefined &&
  Math.abs(nowMs - claim.timestampMs) > config.toleranceMs;

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

/**
 * Compares each claimed digest with the digest for each secret, without ending early. A secret that is unusable (`signingKey`) has no
 * digest and matches nothing, but keeps its index.
 */
const compare = (
  claimed: readonly Buffer[],
  expected: readonly (Buffer | undefined)[],
  deliveryId?: string,
): Verification => {
  let secretIndex: number | undefined;
  for (const [index, digest] of expected.entries())
    if (digest !== undefined) for (const one of claimed) if (timingSafeEqual(one, digest)) secretIndex ??= index;
  return secretIndex === undefined ? { ok: false, reason: 'mismatch' } : { ok: true, deliveryId, secretIndex };
};

/**
 * Starts to verify the signature or the token of a request against each secret. Refuses the request if no body would make it valid.
 * The time depends on the sizes of the headers and the body, and on the number of secrets: each of them takes one
 * pass over the body.
 */
export const startVerifying = (
  config: SignatureConfig,
  { headers, nowMs }: SignedHead,
  secrets: readonly Uint8Array[],
): Verifier | Unverified => {
  const claim = readClaim(config, headers);
  if (typeof claim === 'string') return { ok: false, reason: claim };
  if (isStale(claim, config, nowMs)) return { ok: false, reason: 'stale' };
  const keys = secrets.map((secret) => signingKey(config.scheme, secret));
  if (claim.kind === 'token') {
    // Tokens are hashed, so that their comparison takes the same time for all lengths.
    const claimed = sha256(Buffer.from(claim.token, 'latin1'));
    const verified = compare(
      [claimed],
      keys.map((key) => key && sha256(key)),
    );
    return verified.ok ? { update: () => undefined, finish: () => verified } : verified;
  }
  const hmacs = keys.map((key) => key && createHmac(claim.algorithm, key).update(claim.signedPrefix, 'latin1'));
  return {
    update: (bytes) => {
      for (const hmac of hmacs) hmac?.update(bytes);
    },
    finish: () =>
      compare(
        claim.digests,
        hmacs.map((hmac) => hmac?.digest()),
        claim.deliveryId,
      ),
  };
};

/** Verifies a request whose body has arrived. */
export const verify = (
  config: SignatureConfig,
  { body, ...head }: SignedHead & { readonly body: Uint8Array },
  secrets: readonly Uint8Array[],
): Verification => {
  const started = startVerifying(config, head, secrets);
  if ('ok' in started) return started;
  started.update(body);
  return started.finish();
};
