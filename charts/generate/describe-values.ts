import { ownMember } from '@standin/contract';
import { z } from 'zod';
import { chartValues } from './chart-values.ts';

/** A chart value that is not a group of other values. */
export interface ChartValue {
  readonly path: readonly string[];
  readonly description: string;
  /** The default. Undefined if the value is unset by default, so that the process uses its own default. */
  readonly byDefault: unknown;
}

const unwrap = (schema: z.ZodType): z.ZodType =>
  schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault || schema instanceof z.ZodOptional
    ? unwrap(schema.def.innerType as z.ZodType)
    : schema;

const describe = (schema: z.ZodType, byDefault: unknown, path: readonly string[]): readonly ChartValue[] => {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject && !isKubernetes(path)) {
    const defaults = (byDefault ?? {}) as Readonly<Record<string, unknown>>;
    return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, field]) =>
      describe(field, ownMember(defaults, name), [...path, name]),
    );
  }
  const description = schema.description ?? inner.description;
  if (description === undefined) throw new Error(`value ${path.join('.')} has no description`);
  return [{ path, description, byDefault }];
};

/** Returns whether a value is an object whose fields Kubernetes defines and documents. */
const isKubernetes = (path: readonly string[]): boolean =>
  ['resources', 'timeouts', 'namespaceSelector'].includes(path.at(-1) ?? '') || path.at(-2) === 'probes';

/** Returns the values of a new installation, without the process settings, which keep their own defaults. */
export const defaultValues = (): Readonly<Record<string, unknown>> => chartValues.parse({});

/** Returns every value, in the order of `chartValues`. */
export const describeValues = (): readonly ChartValue[] => describe(chartValues, defaultValues(), []);

/**
 * Returns the JSON Schema that Helm uses to check values before it renders templates. The schema rejects unknown values, such as
 * misspelt names.
 */
export const valuesSchema = (): Readonly<Record<string, unknown>> => {
  const { $schema, ...schema } = z.toJSONSchema(chartValues, { io: 'input', target: 'draft-07' });
  return { $schema, title: 'Values of the standin chart', ...schema };
};
