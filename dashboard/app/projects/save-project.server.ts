import { SourceError, type ResourceObject } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { refusalOf } from '../../src/pages/failures.ts';
import { errorsOf, type FormErrors } from '../ui/form-errors.ts';
import { desiredOf } from '../../src/resources/manifest-yaml.ts';
import { ownerOf, ownershipReason } from '../../src/resources/ownership.ts';
import { PROJECT_FIELDS, readProjectValues, toProject, type ProjectValues } from './project-values.ts';

export type SaveResult =
  | { readonly ok: true; readonly object: ResourceObject }
  | {
      readonly ok: false;
      readonly values: ProjectValues;
      readonly errors: FormErrors;
      /** Another user changed the project since it was read. */
      readonly isConflict: boolean;
    };

/** The generation that the form was filled from. -1: the form contains no valid generation. */
export const expectedGeneration = (form: FormData): number => {
  const generation = Number(form.get('generation'));
  return Number.isSafeInteger(generation) ? generation : -1;
};

/** Creates a project, or replaces the spec of `before`. A refusal returns all submitted values. */
export const saveProject = async (
  { resources }: Backend,
  form: FormData,
  before: ResourceObject | undefined,
): Promise<SaveResult> => {
  const values = readProjectValues(form);
  const refused = (errors: FormErrors): SaveResult => ({ ok: false, values, errors, isConflict: false });
  const owner = before && ownerOf(before);
  if (owner !== undefined) return refused({ fields: {}, form: [ownershipReason(owner)] });
  const object = toProject(values, before && desiredOf(before).metadata);
  if (object.metadata.name === '') {
    return refused({ fields: { 'spec.displayName': ['Give it a name, or an object name below.'] }, form: [] });
  }
  const expected = before === undefined ? 'absent' : expectedGeneration(form);
  try {
    const result = await resources.apply(object, expected);
    return result.ok ? result : refused(errorsOf(result.problems, PROJECT_FIELDS));
  } catch (error) {
    const isConflict = error instanceof SourceError && error.kind === 'Conflict';
    return { ok: false, values, errors: { fields: {}, form: [refusalOf(error)] }, isConflict };
  }
};
