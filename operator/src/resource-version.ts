import type { ResourceObject } from '@standin/contract';

const DECIMAL = /^\d+$/;

/**
 * Returns whether the first object is an older version than the second. Kubernetes resource versions are increasing decimal numbers
 * (KEP-5504), as are those of the directory source.
 */
export const isOlder = (
  { metadata: { resourceVersion: a } }: Pick<ResourceObject, 'metadata'>,
  { metadata: { resourceVersion: b } }: Pick<ResourceObject, 'metadata'>,
): boolean => DECIMAL.test(a) && DECIMAL.test(b) && BigInt(a) < BigInt(b);
