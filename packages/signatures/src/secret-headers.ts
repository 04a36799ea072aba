import type { SignatureConfig } from '@standin/contract';

/**
 * Returns the names of the headers whose values are secrets, in lowercase. The values must not reach the log or an expression, as
 * with the API key. The signature of an HMAC scheme is not a secret.
 */
export const secretHeaders = (config: SignatureConfig): readonly string[] =>
  config.scheme === 'Token' ? [config.header] : [];
