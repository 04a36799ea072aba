import type { SignatureConfig } from '@standin/contract';

/** The algorithm and the encoding of a digest. */
export type DigestFormat = Pick<Extract<SignatureConfig, { scheme: 'HMAC' }>, 'algorithm' | 'encoding'>;

/** Hex digits have the same case, and Base64 has its padding and no unused bits, so that a digest has one text in each of them. */
const TEXTS = {
  SHA256: {
    Hex: /^(?:[0-9a-f]{64}|[0-9A-F]{64})$/,
    Base64: /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/,
  },
  SHA512: {
    Hex: /^(?:[0-9a-f]{128}|[0-9A-F]{128})$/,
    Base64: /^[A-Za-z0-9+/]{85}[AQgw]==$/,
  },
} as const;

/** Returns the bytes of a digest, or undefined if the text is not a digest of this algorithm in this encoding. */
export const decodeDigest = (text: string, { algorithm, encoding }: DigestFormat): Buffer | undefined =>
  TEXTS[algorithm][encoding].test(text) ? Buffer.from(text, encoding === 'Hex' ? 'hex' : 'base64') : undefined;
