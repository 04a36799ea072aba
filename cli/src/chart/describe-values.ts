import { z } from 'zod';
import { chartValues } from './chart-values.ts';

/** A value of the chart that is no group of others. */
export interface ChartValue {
  readonly path: readonly string[];
  readonly description: string;
  /** Undefined: unset, the process has a default of its own. */
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
      describe(field, defaults[name], [...path, name]),
    );
  }
  const description = schema.description ?? inner.description;
  if (description === undefined) throw new Error(`value ${path.join('.')} has no description`);
  return [{ path, description, byDefault }];
};

/** Objects whose fields are Kubernetes’ own, and explained there. */
const isKubernetes = (path: readonly string[]): boolean => path.at(-1) === 'resources';

/** What a fresh installation has, but for the settings of the processes, which keep their own defaults. */
export const defaultValues = (): Readonly<Record<string, unknown>> => chartValues.parse({});

/** Every value, in order. */
export const describeValues = (): readonly ChartValue[] => describe(chartValues, defaultValues(), []);

/** The JSON Schema with which Helm checks values before it renders anything: a misspelt one is refused. */
export const valuesSchema = (): Readonly<Record<string, unknown>> => {
  const { $schema, ...schema } = z.toJSONSchema(chartValues, { io: 'input', target: 'draft-07' });
  return { $schema, title: 'Values of the chart standin', ...schema };
};
