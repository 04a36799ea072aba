import type { SignatureScheme } from '@standin/contract';

const STANDARD_PREFIX = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Returns the text without one line break at its end, which a Secret made from a file often has. */
const withoutLineBreak = (text: string): string => text.replace(/\r?\n$/, '');

/**
 * Returns the key that a secret stands for, or undefined if the secret is unusable: empty or, for Standard Webhooks, not Base64 after
 * the prefix `whsec_`, which may be absent. All schemes except `HMAC`, whose secrets may be any bytes, ignore a line break at the
 * end.
 */
export const signingKey = (scheme: SignatureScheme, secret: Uint8Array): Buffer | undefined => {
  const bytes = Buffer.from(secret.buffer, secret.byteOffset, secret.byteLength);
  const key = scheme === 'HMAC' ? bytes : keyOfText(scheme, withoutLineBreak(bytes.toString('latin1')));
  return key === undefined || key.length === 0 ? undefined : key;
};

const keyOfText = (scheme: SignatureScheme, text: string): Buffer | undefined => {
  if (scheme !== 'StandardWebhooks') return Buffer.from(text, 'latin1');
  const base64 = text.startsWith(STANDARD_PREFIX) ? text.slice(STANDARD_PREFIX.length) : text;
  return BASE64.test(base64) ? Buffer.from(base64, 'base64') : undefined;
};
