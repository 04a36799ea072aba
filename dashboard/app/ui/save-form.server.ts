import { SourceError, type ResourceObject } from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { ApplyResult, ExpectedVersion } from '../../src/backend.ts';
import { readVersion } from '../../src/expected-version.ts';
import { refusalMessage } from '../../src/pages/failures.ts';
import { UnsentError } from '../../src/unsent-error.ts';
import { managingTool, ownershipReason } from '../../src/resources/ownership.ts';
import { NO_ERRORS, type FormErrors } from './form-errors.ts';

/** The result of submitting a form. */
export interface SavedForm {
  /** The saved object. Undefined if the form was rejected or only checked. */
  readonly object: ResourceObject | undefined;
  readonly errors: FormErrors;
  /** True if the object has changed since it was read or, for a new object, if it already exists. */
  readonly isConflict: boolean;
  /** True if the API server did not respond, so that the object may have been saved. */
  readonly isUnknown: boolean;
}

export const refusedForm = (errors: FormErrors): SavedForm => ({
  object: undefined,
  errors,
  isConflict: false,
  isUnknown: false,
});

/** Returns a rejection if a GitOps tool manages the object, otherwise undefined. */
export const managedForm = (before: ResourceObject | undefined): SavedForm | undefined => {
  const owner = before && managingTool(before);
  return owner && refusedForm({ fields: {}, form: [ownershipReason(owner)] });
};

/**
 * Waits for a write, and converts its result or error for the form. `toErrors` assigns the API server's problems to form fields.
 */
export const saveForm = async (
  write: Promise<ApplyResult>,
  toErrors: (problems: readonly Problem[]) => FormErrors,
): Promise<SavedForm> => {
  try {
    const result = await write;
    if (!result.ok) return refusedForm(toErrors(result.problems));
    return { object: result.object, errors: NO_ERRORS, isConflict: false, isUnknown: false };
  } catch (error) {
    const isConflict = error instanceof SourceError && error.kind === 'Conflict';
    const isUnknown = error instanceof SourceError && error.kind === 'Unavailable' && !(error instanceof UnsentError);
    return { ...refusedForm({ fields: {}, form: [refusalMessage(error)] }), isConflict, isUnknown };
  }
};

/** Waits for a dry run, and returns its problems as form errors. `object` is always undefined. */
export const checkForm = (
  check: Promise<readonly Problem[]>,
  toErrors: (problems: readonly Problem[]) => FormErrors,
): Promise<SavedForm> =>
  saveForm(
    check.then((problems) => ({ ok: false, problems })),
    toErrors,
  );

/** Returns the version that the form was filled from, as text. */
export const submittedVersion = (form: FormData): string => {
  const version = form.get('version');
  return typeof version === 'string' ? version : '';
};

/** Returns the version of the object that the form was filled from. If it is missing or invalid, no object has it. */
export const expectedVersion = (form: FormData): Exclude<ExpectedVersion, 'absent'> =>
  readVersion(submittedVersion(form));
