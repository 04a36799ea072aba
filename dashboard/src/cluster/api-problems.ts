import type { Problem } from '@standin/crds';
import type { ApiError } from '@standin/kube';

/** Refusals that blame the object, which a form can show at its fields. */
const BAD_OBJECT: ReadonlySet<number> = new Set([400, 422]);

/** `Invalid value: "x": `: the value stands in the form already. A quoted value may have quotes in it. */
const ECHO = /^Invalid value: (?:"(?:[^"\\]|\\.)*": |[^":\s]+: )?/;
const UNKNOWN_FIELD = /unknown field "([^"]+)"/g;

/** What the API server says of an object that it refuses, by field; `undefined` where the refusal is about something else. */
export const problemsOf = (error: ApiError): readonly Problem[] | undefined => {
  if (!BAD_OBJECT.has(error.status)) return undefined;
  const problems = error.causes.map(({ field = '', message = '' }) => ({
    path: field === '<nil>' ? '' : field,
    message: message.replace(ECHO, ''),
  }));
  if (problems.length > 0) return withoutConsequences(problems);
  // Strict decoding answers in one sentence, without causes.
  const unknown = [...error.message.matchAll(UNKNOWN_FIELD)].map(([message, path = '']) => ({ path, message }));
  return unknown.length > 0 ? unknown : [{ path: '', message: error.message }];
};

/** Said beside the real mistake: rules were not looked at because of it. */
const CONSEQUENCE = /some validation rules were not checked/;

const withoutConsequences = (problems: readonly Problem[]): readonly Problem[] => {
  const real = problems.filter(({ message }) => !CONSEQUENCE.test(message));
  return real.length > 0 ? real : problems;
};
