import { hash } from 'node:crypto';
import { keyFingerprint, type AccountConfig, type HeaderPair } from '@standin/contract';
import type { AuthenticatedByKey } from '../request/accepted.ts';
import { Refusal } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';

/** The accounts in the configuration. */
export interface KeyHolders {
  accountsWithKey(keySha256: string): readonly AccountConfig[];
}

export type KeyHeaderName = 'exact' | 'any-case';

const REPEATED = new Refusal('api_key_repeated');
const NAME_NOT_LOWERCASE = new Refusal('api_key_header_name');
const PADDED = new Refusal('api_key_whitespace');
/** Unknown, revoked and malformed keys all get this refusal. */
export const INVALID_KEY = new Refusal('api_key_invalid');
/** Missing, malformed, wrong and stale signatures all get this refusal. */
export const INVALID_SIGNATURE = new Refusal('signature_invalid');

const DIGESTS_KEPT_MAX = 10_000;
/** Maps valid keys to their digests, so that a frequently used key is hashed only once. */
const digests = new Map<string, string>();

/** In lowercase hex. */
const latin1Sha256 = (key: string): string => digests.get(key) ?? hash('sha256', Buffer.from(key, 'latin1'), 'hex');

const remember = (key: string, digest: string): void => {
  if (digests.has(key)) return;
  if (digests.size >= DIGESTS_KEPT_MAX) digests.clear();
  digests.set(key, digest);
};

const NO_TRAILERS: readonly HeaderPair[] = [];

/**
 * Returns the trailers for the log, with a key and the values of `secretHeaders` replaced by their fingerprints. They do not
 * authenticate a request in a trailer.
 */
export const loggedTrailers = (
  raw: readonly string[],
  secretHeaders: readonly string[] = [],
): readonly HeaderPair[] => {
  if (raw.length === 0) return NO_TRAILERS;
  const pairs: HeaderPair[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? '']);
  hideValues(pairs, ['x-api-key', ...secretHeaders]);
  return pairs;
};

/** Replaces the values of these headers with their fingerprints. `names` are in lowercase. */
export const hideValues = (headers: HeaderPair[], names: readonly string[]): void => {
  for (const [index, [name, value]] of headers.entries())
    if (names.includes(name.toLowerCase())) headers[index] = [name, `sha256:${keyFingerprint(latin1Sha256(value))}`];
};

/**
 * Requires exactly one `x-api-key` header, in lowercase unless the setting says otherwise, with no whitespace added to its value on
 * the wire, and with a key that currently belongs to an account. On success, replaces the key in `head` with its fingerprint. The
 * accounts are looked up by digest, so the time that the lookup takes reveals nothing about the key. Returns undefined if there is no such
 * header, because the request may be signed.
 */
export const authenticate = (
  head: RequestHead,
  accounts: KeyHolders,
  keyHeaderName: KeyHeaderName,
): AuthenticatedByKey | Refusal | undefined => {
  if (head.keyCount === 0) return undefined;
  if (head.keyCount > 1) return REPEATED;
  const [name, key] = head.headers[head.keyIndex] ?? ['', ''];
  if (keyHeaderName === 'exact' && name !== 'x-api-key') return NAME_NOT_LOWERCASE;
  if (head.keyPadded) return PADDED;
  const digest = latin1Sha256(key);
  const holders = accounts.accountsWithKey(digest);
  if (holders.length === 0) return INVALID_KEY;
  remember(key, digest);
  const fingerprint = keyFingerprint(digest);
  // The log keeps everything as received except for the key.
  head.headers[head.keyIndex] = [name, `sha256:${fingerprint}`];
  return { kind: 'key', holders, fingerprint, keySha256: digest };
};
