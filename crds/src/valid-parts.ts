import { isRecord, LIMITS } from '@standin/contract';
import { z } from 'zod';
import { withoutNulls } from './parse.ts';
import { endpoint, type EndpointSpec } from './v1alpha1/endpoint.ts';

type Fields = Readonly<Record<string, unknown>>;
type Shape = Readonly<Record<string, z.core.$ZodType>>;

/** Returns the fields that are valid on their own. */
const validFields = (value: Fields, shape: Shape): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(shape).flatMap(([name, schema]) => {
      const parsed = z.safeParse(schema, withoutNulls(value[name] ?? undefined, schema));
      return parsed.success && parsed.data !== undefined ? [[name, parsed.data]] : [];
    }),
  );

/** Returns the valid fields of a block. Leaves out the body if it is not known what the body is. */
const validBlock = (value: unknown, shape: Shape): Record<string, unknown> => {
  if (!isRecord(value)) return {};
  const fields = validFields(value, shape);
  const isUnknown = ['headers', 'template'].some((name) => value[name] != null && fields[name] === undefined);
  if (isUnknown) for (const name of ['body', 'bodyBase64', 'template']) delete fields[name];
  return fields;
};

const fieldsIn = (schema: z.core.$ZodType): Shape => {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return fieldsIn(schema.unwrap());
  if (schema instanceof z.ZodArray) return fieldsIn(schema.element);
  return schema instanceof z.ZodObject ? schema.shape : {};
};

/**
 * Returns the valid parts of an Endpoint's spec that violates the schema, so that other mistakes can be found in them. Items keep
 * their positions. The rules for several fields are not checked.
 */
export const validEndpointParts = (spec: unknown): Partial<EndpointSpec> => {
  if (!isRecord(spec)) return {};
  const shape = fieldsIn(endpoint.spec);
  const blocks = ['json', 'forward'].flatMap((name) =>
    spec[name] == null ? [] : [[name, validBlock(spec[name], fieldsIn(shape[name] ?? z.unknown()))] as const],
  );
  const { responses } = spec;
  return {
    ...validFields(spec, shape),
    ...Object.fromEntries(blocks),
    ...(Array.isArray(responses) &&
      responses.length <= LIMITS.responsesMax && {
        responses: responses.map((item: unknown) => validBlock(item, fieldsIn(shape['responses'] ?? z.unknown()))),
      }),
  } as Partial<EndpointSpec>;
};
