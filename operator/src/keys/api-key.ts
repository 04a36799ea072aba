import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { LIMITS } from '@standin/contract';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'standin_';
const RANDOM_CHARS = 43;
const CHECKSUM_CHARS = 6;

const base62 = (value: bigint, length: number): string => {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = (BASE62[Number(rest % 62n)] ?? '') + text;
  return text;
};

/**
 * Generates an API key that consists of the prefix, 256 random bits, and the CRC-32 of both. The checksum lets secret scanners
 * distinguish real keys from look-alikes offline (the format that GitHub described in 2021).
 */
export const generateApiKey = (): string => {
  const body = PREFIX + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), RANDOM_CHARS);
  return body + base62(BigInt(crc32(body)), CHECKSUM_CHARS);
};

/** Returns why a user-provided key cannot be used, or undefined if it can. */
export const apiKeyProblem = (key: string): string | undefined => {
  const { ownApiKeyLengthMin: min, ownApiKeyLengthMax: max } = LIMITS;
  if (/^\s|\s$/.test(key)) return 'the key begins or ends with whitespace (often a line break): remove the whitespace';
  if (!/^[\x21-\x7e]*$/.test(key))
    return 'the key contains characters that are not allowed, such as spaces: use visible ASCII characters only';
  if (key.length < min) return `the key has ${key.length} characters: use at least ${min}`;
  if (key.length > max) return `the key has ${key.length} characters: use at most ${max}`;
  return undefined;
};

/** Returns the key's digest in lowercase hex. Gateways receive this digest instead of the key. */
export const apiKeySha256 = (key: string): string => createHash('sha256').update(key).digest('hex');
