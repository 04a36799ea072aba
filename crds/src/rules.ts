import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';

/**
 * A rule for a value, in two forms. The API server uses CEL. The directory source, `standin validate` and the dashboard use a
 * predicate. Message and path are the same in both forms. test/integration/crds.test.ts compares the two forms on a real API
 * server.
 */
export interface Rule<T> {
  /** The CEL expression, in which `self` is the value. */
  readonly cel: string;
  readonly holds: (self: T) => boolean;
  /** What to change, in plain English. Begins in lower case and has no full stop. */
  readonly message: string;
  /** The field below the value that the message is about. */
  readonly field?: string;
  /** Whether the rule fails because the field is missing, rather than because its value is wrong. */
  readonly required?: boolean;
}

/** A rule for a change. `oldSelf` is the previous value. */
export interface TransitionRule<T> extends Omit<Rule<T>, 'holds'> {
  readonly holds: (self: T, oldSelf: T) => boolean;
}

/** Returns a rule that requires fields to keep their values. A missing field must stay missing. */
export const immutable = <T extends object>(
  fields: readonly (keyof T & string)[],
  optional: ReadonlySet<keyof T & string>,
  message: string,
): TransitionRule<T>[] =>
  fields.map((field) => ({
    cel: optional.has(field)
      ? `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`
      : `self.${field} == oldSelf.${field}`,
    holds: (self, oldSelf) => isDeepStrictEqual(self[field], oldSelf[field]),
    message,
    field,
  }));

/** An entry in `x-kubernetes-validations`. */
export const celValidation = (rule: Omit<Rule<never>, 'holds'>) => ({
  rule: rule.cel,
  message: rule.message,
  ...(rule.field !== undefined && { fieldPath: `.${rule.field}` }),
  ...(rule.required && { reason: 'FieldValueRequired' }),
});

/** Returns the schema with `rules` as checks, and with their CEL in its JSON schema. */
export const withRules = <S extends z.ZodType>(schema: S, rules: readonly Rule<z.output<S>>[]): S =>
  schema
    .superRefine((value, context) => {
      for (const { holds, message, field } of rules) {
        if (!holds(value)) context.addIssue({ code: 'custom', message, path: field === undefined ? [] : [field] });
      }
    })
    .meta({ 'x-kubernetes-validations': rules.map(celValidation) });

const celString = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Requires the whole string to match `source`, a regular expression that RE2 and JavaScript interpret in the same way. */
export const matches = (source: string, message: string): Rule<string> => {
  const expression = new RegExp(`^(?:${source})$`, 'u');
  return { cel: `self.matches(${celString(`^(?:${source})$`)})`, holds: (self) => expression.test(self), message };
};

/** Requires that no part of the string matches `source`. */
export const lacks = (source: string, message: string): Rule<string> => {
  const expression = new RegExp(source, 'u');
  return { cel: `!self.matches(${celString(source)})`, holds: (self) => !expression.test(self), message };
};
