import type { Problem } from '@standin/crds';

/** A form's errors by field name, and its errors without a field. */
export interface FormErrors {
  readonly fields: Readonly<Record<string, readonly string[]>>;
  readonly form: readonly string[];
}

export const NO_ERRORS: FormErrors = { fields: {}, form: [] };

/**
 * Returns the path of the parent field: `spec.json.headers[0].name` → `spec.json.headers[0]` → `spec.json.headers` → … Returns a
 * path without a parent unchanged.
 */
const parentOf = (path: string): string => path.replace(/(\.[^.[\]]+|\[\d+\])$/, '');

const fieldOf = (path: string, fields: ReadonlySet<string>): string | undefined => {
  for (let current = path; ; current = parentOf(current)) {
    if (fields.has(current)) return current;
    if (parentOf(current) === current) return undefined;
  }
};

const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}`;

/**
 * Assigns an object's problems to the form's fields, which are named after the object's paths. A problem without a field of that
 * name is assigned to the nearest parent field. If there is no parent field, the problem is assigned to the whole form, with its
 * path.
 */
export const errorsOf = (problems: readonly Problem[], fieldNames: Iterable<string>): FormErrors => {
  const known = new Set(fieldNames);
  const fields = new Map<string, string[]>();
  const form: string[] = [];
  for (const { path, message } of problems) {
    const field = fieldOf(path, known);
    if (field === undefined) form.push(path === '' ? sentence(message) : `${path}: ${message}`);
    else fields.set(field, [...(fields.get(field) ?? []), sentence(message)]);
  }
  return { fields: Object.fromEntries(fields), form };
};
