import { SourceError, type ObjectRef, type ResourceObject } from '@standin/contract';
import type { ExpectedVersion } from './backend.ts';

type Versioned = Pick<ResourceObject, 'metadata'>;

/** Returns the version of an object as text, for a form. */
export const versionText = ({ metadata: { uid, generation } }: Versioned): string => `${generation}/${uid}`;

/** Reads the result of `versionText`. Any other text is a version that no object has. */
export const readVersion = (text: string): Exclude<ExpectedVersion, 'absent'> => {
  const [, generation = '-1', uid = ''] = /^(\d{1,15})\/(.+)$/.exec(text) ?? [];
  return { uid, generation: Number(generation) };
};

/** Returns the error for an object that was to be changed and does not exist. */
export const missingError = ({ kind, namespace, name }: ObjectRef): SourceError =>
  new SourceError('NotFound', `${kind} "${name}" does not exist in namespace "${namespace}"`);

/** Throws a `SourceError` unless the object is in the state that the user saw, which is `absent` or a version. */
export const checkExpected = (before: Versioned | undefined, expected: ExpectedVersion, ref: ObjectRef): void => {
  const { kind, namespace, name } = ref;
  if (expected === 'absent') {
    if (before === undefined) return;
    throw new SourceError('Conflict', `${kind} "${name}" already exists in namespace "${namespace}"`);
  }
  if (before === undefined) throw missingError(ref);
  const { uid, generation } = before.metadata;
  if (uid !== expected.uid)
    throw new SourceError(
      'Conflict',
      `${kind} "${name}" was deleted and created again after it was read for this change: load the latest version and repeat the change`,
    );
  if (generation === expected.generation) return;
  throw new SourceError(
    'Conflict',
    `${kind} "${name}" is now at generation ${generation}, but this change is based on generation ${expected.generation}: load the latest version and repeat the change`,
  );
};
