import { isRecord, LIMITS, ownMember } from '@standin/contract';
import { z } from 'zod';
import { withoutNulls } from './parse.ts';
import { endpoint, type EndpointSpec } from './v1alpha1/endpoint.ts';

type Fields = Readonly<Record<string, unknown>>;
type Shape = Readonly<Record<string, z.core.$ZodType>>;

/** What the headers and the template of a mock give a meaning. */
const BODY_FIELDS: ReadonlySet<string> = new Set(['body', 'bodyBase64', 'template']);

/** Like the API server, takes `null` for an absent field. */
const isSet = (value: unknown): boolean => value !== undefined && value !== null;

/** Returns the fields that are valid on their own. */
const validFields = (value: Fields, shape: Shape): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(shape).flatMap(([name, schema]) => {
      const parsed = z.safeParse(schema, withoutNulls(ownMember(value, name) ?? undefined, schema));
      return parsed.success && parsed.data !== undefined ? [[name, parsed.data]] : [];
    }),
  );

/** Returns the valid fields of a block. Leaves out the body if it is not known what the body is. */
const validBlock = (value: unknown, shape: Shape): Record<string, unknown> => {
  if (!isRecord(value)) return {};
  const fields = validFields(value, shape);
  const isInvalid = (name: string): boolean => isSet(ownMember(value, name)) && !Object.hasOwn(fields, name);
  if (!isInvalid('headers') && !isInvalid('template')) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !BODY_FIELDS.has(name)));
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
  const { json, forward, responses } = spec;
  return {
    ...validFields(spec, shape),
    ...(isSet(json) && { json: validBlock(json, fieldsIn(endpoint.spec.shape.json)) }),
    ...(isSet(forward) && { forward: validBlock(forward, fieldsIn(endpoint.spec.shape.forward)) }),
    ...(Array.isArray(responses) &&
      responses.length <= LIMITS.responsesMax && {
        responses: responses.map((item: unknown) => validBlock(item, fieldsIn(shape['responses'] ?? z.unknown()))),
      }),
  } as Partial<EndpointSpec>;
};
