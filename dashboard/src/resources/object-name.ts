/** The API server accepts 253 characters. This limit leaves room for a suffix, and longer names are hard to type. */
const LENGTH_MAX = 63;
/** A letter or digit of another script, which a name cannot contain. */
const OTHER_SCRIPT = /(?![\p{Script=Latin}0-9])[\p{Letter}\p{Number}]/u;

/**
 * Derives an object name from a display name, for example `create-order` from `Create order`. A title in another script gets a
 * checksum, so that different titles have different names: `object-1jvfbao` from `注文`. Returns an empty string if the title
 * has neither letters nor digits.
 */
export const toObjectName = (title: string): string => {
  const plain = title.normalize('NFKD').replaceAll(/\p{Mark}/gu, '');
  const checksum = OTHER_SCRIPT.test(plain) ? fnv1a(title.trim()) : undefined;
  const name = plain
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, checksum === undefined ? LENGTH_MAX : LENGTH_MAX - checksum.length - 1)
    .replaceAll(/^-+|-+$/g, '');
  return checksum === undefined ? name : `${name === '' ? 'object' : name}-${checksum}`;
};

/** In base 36. */
const fnv1a = (text: string): string => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
};
