import type { Problem } from '@standin/crds';
import type { ApiError } from '@standin/kube';

/** Statuses that mean that the object is invalid. A form can show such problems next to its fields. */
const BAD_OBJECT: ReadonlySet<number> = new Set([400, 422]);

/** Matches `Invalid value: "x": `, which is removed because the form already shows the value. A quoted value may contain quotes. */
const ECHO = /^Invalid value: (?:"(?:[^"\\]|\\.)*": |[^":\s]+: )?/;
const UNKNOWN_FIELD = /unknown field "([^"]+)"/g;

/**
 * Returns what the API server reports about an invalid object, by field. Returns undefined if the API server rejected the request
 * for another reason.
 */
export const objectProblems = (error: ApiError): readonly Problem[] | undefined => {
  if (!BAD_OBJECT.has(error.status)) return undefined;
  const problems = error.causes.map(({ field = '', message = '' }) => ({
    path: field === '<nil>' ? '' : field,
    message: message.replace(ECHO, ''),
  }));
  if (problems.length > 0) return withoutConsequences(problems);
  // Strict decoding reports all unknown fields in one message, without causes.
  const unknown = [...error.message.matchAll(UNKNOWN_FIELD)].map(([message, path = '']) => ({ path, message }));
  return unknown.length > 0 ? unknown : [{ path: '', message: error.message }];
};

/** The API server adds this message to the actual error if that error prevents it from checking other rules. */
const CONSEQUENCE = /some validation rules were not checked/;

const withoutConsequences = (problems: readonly Problem[]): readonly Problem[] => {
  const real = problems.filter(({ message }) => !CONSEQUENCE.test(message));
  return real.length > 0 ? real : problems;
};
