/** The API server accepts 253. Users do not type more than this, and a suffix has to fit. */
const LENGTH_MAX = 63;

/** Derives an object's name from a display name: `Create order` → `create-order`. Empty: no valid character is left. */
export const objectNameOf = (title: string): string =>
  title
    .normalize('NFKD')
    .replaceAll(/\p{Mark}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LENGTH_MAX)
    .replaceAll(/^-+|-+$/g, '');
