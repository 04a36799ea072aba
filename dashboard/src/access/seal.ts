import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Encrypts and authenticates text, so that only this dashboard can read or create it. */
export interface Sealer {
  /** Returns the sealed text, which cannot be opened for a different `purpose`. */
  seal(plain: string, purpose: string): string;
  /** Returns undefined if the text was not sealed with these keys for this purpose, or was changed. */
  open(sealed: string, purpose: string): string | undefined;
}

/** Random nonces of 96 bits are safe for 2^32 messages per key (NIST SP 800-38D). */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';

/**
 * Creates a sealer. The first secret seals text. Every secret can open text. To rotate secrets, add a new one in front, and remove
 * the old one when its sessions have ended.
 */
export const createSealer = (secrets: readonly [string, ...string[]]): Sealer => {
  const keys = secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', 'standin-dashboard', KEY_BYTES)));
  const open = (key: Buffer, sealed: Buffer, purpose: string): string | undefined => {
    try {
      const cipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(purpose)).setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      return cipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + cipher.final('utf8');
    } catch {
      return undefined;
    }
  };
  return {
    seal: (plain, purpose) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, keys[0] as Buffer, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(purpose));
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url');
    },
    open: (sealed, purpose) => {
      const bytes = Buffer.from(sealed, 'base64url');
      for (const key of keys) {
        const plain = open(key, bytes, purpose);
        if (plain !== undefined) return plain;
      }
      return undefined;
    },
  };
};
