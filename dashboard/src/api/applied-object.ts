import type { ResourceObject } from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { ApplyResult } from '../backend.ts';
import { problemText } from '../resources/problem-text.ts';
import { ApiProblem } from './problems.ts';

/** Creates a problem from the API server's messages, by field. */
export const invalidObject = (problems: readonly Problem[]): ApiProblem =>
  new ApiProblem('object_invalid', problemText(problems), {
    errors: problems.map(({ path: name, message }) => ({ name, message })),
  });

/** Returns the written object. Throws an `ApiProblem` if it is invalid. */
export const appliedObject = (result: ApplyResult): ResourceObject => {
  if (result.ok) return result.object;
  throw invalidObject(result.problems);
};
