import { SourceError, type ObjectRef, type ResourceObject } from '@standin/contract';
import type { ExpectedGeneration } from './backend.ts';

/** Throws a `SourceError` unless the object is in the state that the user saw: `absent`, or at this generation. */
export const checkExpected = (
  before: Pick<ResourceObject, 'metadata'> | undefined,
  expected: ExpectedGeneration,
  { kind, namespace, name }: ObjectRef,
): void => {
  if (expected === 'absent') {
    if (before === undefined) return;
    throw new SourceError('Conflict', `there is a ${kind} "${name}" in namespace "${namespace}" already`);
  }
  if (before === undefined)
    throw new SourceError('NotFound', `there is no ${kind} "${name}" in namespace "${namespace}"`);
  const { generation } = before.metadata;
  if (generation === expected) return;
  throw new SourceError(
    'Conflict',
    `it is at generation ${generation} now, and generation ${expected} was edited. Load the page again and repeat the change`,
  );
};
