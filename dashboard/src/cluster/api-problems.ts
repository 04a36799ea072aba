import type { Problem } from '@standin/crds';
import type { ApiError } from '@standin/kube';

/** Statuses of refusals that blame the object. A form can show these at its fields. */
const BAD_OBJECT: ReadonlySet<number> = new Set([400, 422]);

/** `Invalid value: "x": `: the form already shows the value. A quoted value may contain quotes. */
const ECHO = /^Invalid value: (?:"(?:[^"\\]|\\.)*": |[^":\s]+: )?/;
const UNKNOWN_FIELD = /unknown field "([^"]+)"/g;

/** What the API server reports about an object that it refuses, by field. Undefined: the refusal has another cause. */
export const problemsOf = (error: ApiError): readonly Problem[] | undefined => {
  if (!BAD_OBJECT.has(error.status)) return undefined;
  const problems = error.causes.map(({ field = '', message = '' }) => ({
    path: field === '<nil>' ? '' : field,
    message: message.replace(ECHO, ''),
  }));
  if (problems.length > 0) return withoutConsequences(problems);
  // Strict decoding reports everything in one sentence, without causes.
  const unknown = [...error.message.matchAll(UNKNOWN_FIELD)].map(([message, path = '']) => ({ path, message }));
  return unknown.length > 0 ? unknown : [{ path: '', message: error.message }];
};

/** Reported together with the real mistake, which prevents the check of other rules. */
const CONSEQUENCE = /some validation rules were not checked/;

const withoutConsequences = (problems: readonly Problem[]): readonly Problem[] => {
  const real = problems.filter(({ message }) => !CONSEQUENCE.test(message));
  return real.length > 0 ? real : problems;
};
