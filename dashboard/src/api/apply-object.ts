import type { DesiredObject, ResourceObject } from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { Backend, ExpectedGeneration } from '../backend.ts';
import { ApiProblem } from './problems.ts';

/** Reports what the API server rejects, by field. */
export const invalidObject = (problems: readonly Problem[]): ApiProblem =>
  new ApiProblem('object_invalid', problems.map(({ path, message }) => `${path}: ${message}`).join('; '), {
    errors: problems.map(({ path: name, message }) => ({ name, message })),
  });

/** Writes with the rights of the caller. Rejects with an `ApiProblem` if the object is invalid, otherwise with a `SourceError`. */
export const applyObject = async (
  { resources }: Backend,
  object: DesiredObject,
  expected: ExpectedGeneration,
): Promise<ResourceObject> => {
  const result = await resources.apply(object, expected);
  if (result.ok) return result.object;
  throw invalidObject(result.problems);
};
