/** Typical parts of the names of secrets, in any style: `X-Auth-Token`, `authToken` and `AUTH_TOKEN` all contain `token`. */
const PARTS = [
  'authorization',
  'cookie',
  'token',
  'secret',
  'signature',
  'password',
  'passwd',
  'passphrase',
  'passcode',
  'apikey',
  'accesskey',
  'privatekey',
  'credential',
  'sessionid',
  'csrf',
  'xsrf',
  'hmac',
  'jwt',
  'bearer',
  'cardnumber',
];

/** Short words that occur inside other words. They count only as whole words, such as `sig` in `x-sig` and `urlSig`. */
const WORDS: ReadonlySet<string> = new Set([
  'auth',
  'pwd',
  'pass',
  'otp',
  'sid',
  'sig',
  'session',
  'cvv',
  'cvc',
  'ssn',
]);

const nameWords = (name: string): string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);

/**
 * Returns whether a value with this name is usually a secret. If in doubt, returns true, because users can show the value again.
 */
export const isSensitiveName = (name: string): boolean => {
  const words = nameWords(name);
  const plain = words.join('');
  return PARTS.some((part) => plain.includes(part)) || words.some((word) => WORDS.has(word));
};

/** The minimum length of a secret code. Shorter codes are those of a country, a currency or a status. */
const CODE_LENGTH_MIN = 6;

/**
 * Returns whether the name is `code` and the value is long enough for a secret: an OAuth authorization code (RFC 6749 section
 * 4.1.2), or a code that is sent to a phone. Only for query strings and forms, because in text, `code` can have many other
 * meanings.
 */
export const isCredentialCode = (name: string, queryValue: string): boolean =>
  name.toLowerCase() === 'code' && queryValue.length >= CODE_LENGTH_MIN;

/**
 * Returns whether the name is that of a secret, or is `key`, the query parameter in which many services take API keys. Not for
 * names in JSON, where `key` can have many other meanings.
 */
export const isSensitiveQueryName = (name: string): boolean => isSensitiveName(name) || name.toLowerCase() === 'key';
