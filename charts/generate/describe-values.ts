import { z } from 'zod';
import { chartValues } from './chart-values.ts';

/** A value of the chart that is not a group of other values. */
export interface ChartValue {
  readonly path: readonly string[];
  readonly description: string;
  /** Undefined: the value is unset, and the process uses its own default. */
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

/** Objects whose fields are defined and documented by Kubernetes. */
const isKubernetes = (path: readonly string[]): boolean => path.at(-1) === 'resources';

/** The values of a new installation, without the settings of the processes. Those keep their own defaults. */
export const defaultValues = (): Readonly<Record<string, unknown>> => chartValues.parse({});

/** Every value, in order. */
export const describeValues = (): readonly ChartValue[] => describe(chartValues, defaultValues(), []);

/** The JSON Schema with which Helm checks values before it renders templates. It rejects unknown (for example, misspelt) values. */
export const valuesSchema = (): Readonly<Record<string, unknown>> => {
  const { $schema, ...schema } = z.toJSONSchema(chartValues, { io: 'input', target: 'draft-07' });
  return { $schema, title: 'Values of the chart standin', ...schema };
};
