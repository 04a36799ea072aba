import { hash } from 'node:crypto';
import { keyFingerprint, type AccountConfig, type HeaderPair } from '@standin/contract';
import type { Authenticated } from '../request/accepted.ts';
import { Refusal } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';

/** The accounts in the configuration. */
export interface KeyHolders {
  /** Returns the accounts whose key has this digest. */
  holdersOf(keySha256: string): readonly AccountConfig[];
}

export type KeyHeaderName = 'exact' | 'any-case';

const MISSING = new Refusal('api_key_missing');
const REPEATED = new Refusal('api_key_repeated');
const NAME_NOT_LOWERCASE = new Refusal('api_key_header_name');
const PADDED = new Refusal('api_key_whitespace');
/** Unknown, revoked and malformed keys all get this refusal. */
export const INVALID_KEY = new Refusal('api_key_invalid');

const DIGESTS_KEPT_MAX = 10_000;
/** Maps valid keys to their digests, so that a frequently used key is hashed only once. */
const digests = new Map<string, string>();

/** Returns the lowercase hex SHA-256 of a header value, encoded as latin1. */
const digestOf = (key: string): string => digests.get(key) ?? hash('sha256', Buffer.from(key, 'latin1'), 'hex');

const remember = (key: string, digest: string): void => {
  if (digests.has(key)) return;
  if (digests.size >= DIGESTS_KEPT_MAX) digests.clear();
  digests.set(key, digest);
};

/** Returns a trailer for the log, with a key replaced by its fingerprint. A key in a trailer does not authenticate a request. */
export const withoutKey = ([name, value]: HeaderPair): HeaderPair =>
  name.toLowerCase() === 'x-api-key' ? [name, `sha256:${keyFingerprint(digestOf(value))}`] : [name, value];

/**
 * Requires exactly one `x-api-key` header, in lowercase unless the setting says otherwise, with no whitespace added to its value on
 * the wire, and with a key that currently belongs to an account. On success, replaces the key in `head` with its fingerprint. The
 * accounts are looked up by digest, so the time that the lookup takes reveals nothing about the key.
 */
export const authenticate = (
  head: RequestHead,
  accounts: KeyHolders,
  keyHeaderName: KeyHeaderName,
): Authenticated | Refusal => {
  if (head.keyCount === 0) return MISSING;
  if (head.keyCount > 1) return REPEATED;
  const [name, key] = head.headers[head.keyIndex] ?? ['', ''];
  if (keyHeaderName === 'exact' && name !== 'x-api-key') return NAME_NOT_LOWERCASE;
  if (head.keyPadded) return PADDED;
  const digest = digestOf(key);
  const holders = accounts.holdersOf(digest);
  if (holders.length === 0) return INVALID_KEY;
  remember(key, digest);
  const fingerprint = keyFingerprint(digest);
  // The log keeps everything as received except for the key.
  head.headers[head.keyIndex] = [name, `sha256:${fingerprint}`];
  return { holders, fingerprint, keySha256: digest };
};
