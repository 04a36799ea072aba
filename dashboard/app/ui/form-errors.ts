import { capitalize } from '@standin/contract';
import type { Problem } from '@standin/crds';

/** A form's errors by field name, and its errors without a field. */
export interface FormErrors {
  readonly fields: Readonly<Record<string, readonly string[]>>;
  readonly form: readonly string[];
}

export const NO_ERRORS: FormErrors = { fields: {}, form: [] };

/**
 * `spec.json.headers[0].name` → `spec.json.headers[0]` → `spec.json.headers` → … Returns a path without a parent unchanged.
 */
const parentPath = (path: string): string => path.replace(/(\.[^.[\]]+|\[\d+\])$/, '');

const nearestField = (path: string, fields: ReadonlySet<string>): string | undefined => {
  for (let current = path; ; current = parentPath(current)) {
    if (fields.has(current)) return current;
    if (parentPath(current) === current) return undefined;
  }
};

/**
 * Assigns an object's problems to the form's fields, which are named after the object's paths. A problem without a field of that
 * name is assigned to the nearest parent field. If there is no parent field, the problem is assigned to the whole form, with its
 * path.
 */
export const toFormErrors = (problems: readonly Problem[], fieldNames: Iterable<string>): FormErrors => {
  const known = new Set(fieldNames);
  const fields = new Map<string, string[]>();
  const form: string[] = [];
  for (const { path, message } of problems) {
    const field = nearestField(path, known);
    if (field === undefined) form.push(path === '' ? capitalize(message) : `${path}: ${message}`);
    else fields.set(field, [...(fields.get(field) ?? []), capitalize(message)]);
  }
  return { fields: Object.fromEntries(fields), form };
};
