import type { DesiredObject, ResourceObject } from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { Backend, ExpectedGeneration } from '../backend.ts';
import { ApiProblem } from './problems.ts';

/** What the API server does not like, by field. */
export const invalidObject = (problems: readonly Problem[]): ApiProblem =>
  new ApiProblem('object_invalid', problems.map(({ path, message }) => `${path}: ${message}`).join('; '), {
    errors: problems.map(({ path: name, message }) => ({ name, message })),
  });

/** Writes with the rights of whoever asks. Rejects with an `ApiProblem` for what is not valid, with `SourceError` else. */
export const applyObject = async (
  { resources }: Backend,
  object: DesiredObject,
  expected: ExpectedGeneration,
): Promise<ResourceObject> => {
  const result = await resources.apply(object, expected);
  if (result.ok) return result.object;
  throw invalidObject(result.problems);
};
