import { createHash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;
/** 256 bits in base64url. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Returns a new token for a link. The token is shown once, because the Share stores only its SHA-256 hash. */
export const createShareToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url');

export const isShareToken = (text: string): boolean => TOKEN.test(text);

/** Returns the hash in lower-case hex. A plain hash is sufficient, because 256 random bits cannot be guessed. */
export const shareTokenSha256 = (token: string): string => createHash('sha256').update(token).digest('hex');
