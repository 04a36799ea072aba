import type { SignatureScheme } from '@standin/contract';

const STANDARD_PREFIX = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Returns the key that a secret stands for. This is the secret itself, except that the secrets of Standard Webhooks are Base64 after
 * the prefix `whsec_`, which may be missing. Returns undefined if the key would be empty, or if the secret is not Base64.
 */
export const signingKey = (scheme: SignatureScheme, secret: Uint8Array): Buffer | undefined => {
  const bytes = Buffer.from(secret.buffer, secret.byteOffset, secret.byteLength);
  const key = scheme === 'StandardWebhooks' ? decodeSecret(bytes.toString('latin1')) : bytes;
  return key === undefined || key.length === 0 ? undefined : key;
};

const decodeSecret = (text: string): Buffer | undefined => {
  const base64 = text.startsWith(STANDARD_PREFIX) ? text.slice(STANDARD_PREFIX.length) : text;
  return BASE64.test(base64) ? Buffer.from(base64, 'base64') : undefined;
};
