/** The API server accepts 253 characters. This limit leaves room for a suffix, and longer names are hard to type. */
const LENGTH_MAX = 63;

/**
 * Derives an object name from a display name, for example `create-order` from `Create order`. Returns an empty string if no valid
 * character remains.
 */
export const objectNameOf = (title: string): string =>
  title
    .normalize('NFKD')
    .replaceAll(/\p{Mark}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LENGTH_MAX)
    .replaceAll(/^-+|-+$/g, '');
