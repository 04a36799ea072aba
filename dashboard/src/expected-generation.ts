import { SourceError, type ObjectRef, type ResourceObject } from '@standin/contract';
import type { ExpectedGeneration } from './backend.ts';

/** Throws a `SourceError` unless the object is in the state that the user saw, which is `absent` or a generation. */
export const checkExpected = (
  before: Pick<ResourceObject, 'metadata'> | undefined,
  expected: ExpectedGeneration,
  { kind, namespace, name }: ObjectRef,
): void => {
  if (expected === 'absent') {
    if (before === undefined) return;
    throw new SourceError('Conflict', `${kind} "${name}" already exists in namespace "${namespace}"`);
  }
  if (before === undefined)
    throw new SourceError('NotFound', `${kind} "${name}" does not exist in namespace "${namespace}"`);
  const { generation } = before.metadata;
  if (generation === expected) return;
  throw new SourceError(
    'Conflict',
    `${kind} "${name}" is now at generation ${generation}, but this change is based on generation ${expected}: load the latest version and repeat the change`,
  );
};
