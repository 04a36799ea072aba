import { LIMITS, type DesiredObject } from '@standin/contract';
import type { Problem } from '@standin/crds';
import type { Backend } from '../../src/backend.ts';
import { refusalOf } from '../../src/pages/failures.ts';
import { errorsOf, NO_ERRORS, type FormErrors } from '../ui/form-errors.ts';

/** The API server's own message gives no reason. */
const TOO_LARGE =
  `is more than ${LIMITS.replayEditBytesMax / 1_000} kB: what is edited travels in the Replay, ` +
  'which holds no more. Send a larger request with a client of your own';

/** Adds the line to the problem of a header, because the form has one field for all headers. */
const inForm = (problem: Problem): Problem => {
  if (problem.path === 'spec.edit.body' && /^too long/i.test(problem.message))
    return { ...problem, message: TOO_LARGE };
  const [, index] = /^spec\.edit\.headers\[(\d+)\]/.exec(problem.path) ?? [];
  return index === undefined
    ? problem
    : { path: 'spec.edit.headers', message: `line ${Number(index) + 1}: ${problem.message}` };
};

/** Creates a Replay with the rights of the user. Returns what to change in the form. No errors: it was created. */
export const createReplay = async (
  { resources }: Backend,
  object: DesiredObject,
  fields: readonly string[],
): Promise<FormErrors> => {
  try {
    const result = await resources.apply(object, 'absent');
    return result.ok ? NO_ERRORS : errorsOf(result.problems.map(inForm), fields);
  } catch (error) {
    return { fields: {}, form: [refusalOf(error)] };
  }
};

export const hasErrors = ({ fields, form }: FormErrors): boolean => form.length > 0 || Object.keys(fields).length > 0;
