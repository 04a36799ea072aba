import type { Condition, Kind } from '@standin/contract';
import { z } from 'zod';
import { commonStatus } from './fields.ts';
import { DEFINITIONS } from './kinds.ts';

type ParsedStatus<K extends Kind> = z.output<(typeof DEFINITIONS)[K]['status']>;

/** Returns a version of the schema that ignores unknown fields, and optional fields with invalid values. */
const tolerant = (schema: z.core.$ZodType): z.ZodType => {
  if (schema instanceof z.ZodOptional) return tolerant(schema.unwrap()).optional().catch(undefined);
  if (schema instanceof z.ZodArray) return z.array(tolerant(schema.element));
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape as z.core.$ZodShape).map(([name, field]) => [name, tolerant(field)]);
    return z.object(Object.fromEntries(fields) as Record<string, z.ZodType>);
  }
  return schema as z.ZodType;
};

const SCHEMAS = new Map(Object.values(DEFINITIONS).map(({ kind, status }) => [kind, tolerant(status)]));
const COMMON_SCHEMA = tolerant(z.object(commonStatus({})));

/**
 * Returns an object's status, as far as it can be read. Other versions of the operator may have written fields that this version
 * does not know.
 */
export const readStatus = <K extends Kind>(kind: K, status: unknown): ParsedStatus<K> =>
  (SCHEMAS.get(kind)?.safeParse(status).data ?? {}) as ParsedStatus<K>;

/** Returns the conditions in the status of any kind, or no conditions if they cannot be read. */
export const conditionsIn = (status: unknown): readonly Condition[] =>
  (COMMON_SCHEMA.safeParse(status).data as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ??
  [];
