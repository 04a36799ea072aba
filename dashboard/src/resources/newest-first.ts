import type { ResourceObject } from '@standin/contract';

export const newestFirst = (objects: readonly ResourceObject[]): readonly ResourceObject[] =>
  objects.toSorted(({ metadata: { creationTimestamp: a } }, { metadata: { creationTimestamp: b } }) =>
    a === b ? 0 : a < b ? 1 : -1,
  );
