/** The API server takes 253; nobody types more than this, and a suffix has to fit. */
const LENGTH_MAX = 63;

/** A name for an object, made from what people call it: `Create order` → `create-order`. Empty where nothing is left. */
export const objectNameOf = (title: string): string =>
  title
    .normalize('NFKD')
    .replaceAll(/\p{Mark}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LENGTH_MAX)
    .replaceAll(/^-+|-+$/g, '');
