import { SourceError, type ResourceObject } from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { ApplyResult } from '../../src/backend.ts';
import { refusalOf } from '../../src/pages/failures.ts';
import { ownerOf, ownershipReason } from '../../src/resources/ownership.ts';
import { NO_ERRORS, type FormErrors } from './form-errors.ts';

/** What became of a form. */
export interface SavedForm {
  /** As written. Undefined: it was refused, or only checked. */
  readonly object: ResourceObject | undefined;
  readonly errors: FormErrors;
  /** Another user changed the object since it was read. */
  readonly isConflict: boolean;
}

export const refusedForm = (errors: FormErrors): SavedForm => ({ object: undefined, errors, isConflict: false });

/** The refusal to change an object that a GitOps tool manages. */
export const managedForm = (before: ResourceObject | undefined): SavedForm | undefined => {
  const owner = before && ownerOf(before);
  return owner && refusedForm({ fields: {}, form: [ownershipReason(owner)] });
};

/** The result of a write with the user's rights. `toErrors` assigns what the API server refuses to the fields of the form. */
export const saveForm = async (
  write: Promise<ApplyResult>,
  toErrors: (problems: readonly Problem[]) => FormErrors,
): Promise<SavedForm> => {
  try {
    const result = await write;
    if (!result.ok) return refusedForm(toErrors(result.problems));
    return { object: result.object, errors: NO_ERRORS, isConflict: false };
  } catch (error) {
    const isConflict = error instanceof SourceError && error.kind === 'Conflict';
    return { ...refusedForm({ fields: {}, form: [refusalOf(error)] }), isConflict };
  }
};

/** A dry run, as a write that is refused for what it finds. */
export const checkForm = (
  check: Promise<readonly Problem[]>,
  toErrors: (problems: readonly Problem[]) => FormErrors,
): Promise<SavedForm> =>
  saveForm(
    check.then((problems) => ({ ok: false, problems })),
    toErrors,
  );

/** The generation that the form was filled from. -1: the form contains no valid generation. */
export const expectedGeneration = (form: FormData): number => {
  const generation = Number(form.get('generation'));
  return Number.isSafeInteger(generation) ? generation : -1;
};
