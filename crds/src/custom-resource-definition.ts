import { createHash } from 'node:crypto';
import { API_GROUP, API_VERSION, CATEGORY, RESOURCES } from '@standin/contract';
import { z } from 'zod';
import type { AnyKindDefinition } from './definition.ts';
import { initialStatus } from './fields.ts';
import { celValidation } from './rules.ts';

type JsonSchema = Record<string, unknown>;

/**
 * An annotation on each CRD that contains the digest of its schema. An operator compares the digest with its own to detect a
 * different version.
 */
export const SCHEMA_DIGEST_ANNOTATION = `${API_GROUP}/schema-digest`;

/**
 * An annotation on each CRD that contains the number of fields in its schema. Versions only add fields, so an earlier version has a
 * smaller number. The chart has a policy that compares the numbers: an earlier CRD would remove fields from existing objects.
 */
export const SCHEMA_FIELDS_ANNOTATION = `${API_GROUP}/schema-fields`;

/** The order of a schema's keys. The type comes first and long parts come last, so that the manifests are easy to read. */
const KEY_ORDER = ['type', 'format', 'description', 'default', 'enum', 'required', 'properties', 'items'];

const ordered = (schema: JsonSchema): JsonSchema =>
  Object.fromEntries(
    Object.entries(schema).sort(([a], [b]) => {
      const rank = (key: string): number => (KEY_ORDER.indexOf(key) + KEY_ORDER.length) % KEY_ORDER.length;
      return rank(a) - rank(b);
    }),
  );

/** kubectl explain prints no defaults, so the description of a field ends with its default. */
const describedDefault = ({ description = '', default: value }: JsonSchema): string =>
  `${description as string} Default: ${typeof value === 'string' ? value : JSON.stringify(value)}.`;

/**
 * Returns the structural schema of a zod type. Omits `additionalProperties`, because the API server prunes unknown fields anyway
 * (or rejects them with `--validate=strict`).
 */
const structuralSchema = (schema: z.ZodType): JsonSchema => {
  const result = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties;
      if (jsonSchema.default !== undefined) jsonSchema.description = describedDefault(jsonSchema);
    },
  }) as JsonSchema;
  delete result['$schema'];
  return result;
};

/** The conditions of the kinds that gateways serve. */
export const SERVED_CONDITIONS = ['Accepted', 'ResolvedRefs', 'Programmed', 'Ready'] as const;

const rootSchema = (definition: AnyKindDefinition): JsonSchema => {
  const { description, spec, status, nameRules, transitions, conditions = SERVED_CONDITIONS } = definition;
  const specSchema = structuralSchema(spec);
  const validations = [
    ...((specSchema['x-kubernetes-validations'] ?? []) as unknown[]),
    ...transitions.map((rule) => celValidation(rule)),
  ];
  return {
    type: 'object',
    description,
    required: ['spec'],
    ...(nameRules.length > 0 && {
      'x-kubernetes-validations': nameRules.map((rule) => ({ ...celValidation(rule), fieldPath: '.metadata.name' })),
    }),
    properties: {
      apiVersion: { type: 'string', description: 'Version of this representation of the object.' },
      kind: { type: 'string', description: 'Type of the object.' },
      metadata: { type: 'object', ...(nameRules.length > 0 && { properties: { name: { type: 'string' } } }) },
      spec: { ...specSchema, ...(validations.length > 0 && { 'x-kubernetes-validations': validations }) },
      status: { ...structuralSchema(status), default: initialStatus(conditions) },
    },
  };
};

const orderedDeep = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(orderedDeep);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, orderedDeep(item)] as const);
  return ordered(Object.fromEntries(entries));
};

/** On all levels. */
const fieldCount = ({ properties = {}, items }: JsonSchema): number =>
  Object.values(properties as Record<string, JsonSchema>).reduce(
    (sum, field) => sum + 1 + fieldCount(field),
    items === undefined ? 0 : fieldCount(items as JsonSchema),
  );

const crdVersion = (definition: AnyKindDefinition) => ({
  name: API_VERSION,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: orderedDeep(rootSchema(definition)) },
  subresources: { status: {} },
  ...(definition.selectableFields.length > 0 && {
    selectableFields: definition.selectableFields.map((jsonPath) => ({ jsonPath })),
  }),
  additionalPrinterColumns: definition.printerColumns,
});

/** Returns 12 hex digits of the SHA-256 of everything that the API server receives about the version. */
export const schemaDigest = (definition: AnyKindDefinition): string =>
  createHash('sha256')
    .update(JSON.stringify(crdVersion(definition)))
    .digest('hex')
    .slice(0, 12);

export const customResourceDefinition = (definition: AnyKindDefinition) => {
  const { plural, singular, shortNames } = RESOURCES[definition.kind];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${API_GROUP}`,
      annotations: {
        [SCHEMA_DIGEST_ANNOTATION]: schemaDigest(definition),
        [SCHEMA_FIELDS_ANNOTATION]: String(fieldCount(rootSchema(definition))),
      },
    },
    spec: {
      group: API_GROUP,
      scope: 'Namespaced',
      names: {
        kind: definition.kind,
        listKind: `${definition.kind}List`,
        plural,
        singular,
        shortNames,
        categories: [CATEGORY],
      },
      versions: [crdVersion(definition)],
    },
  };
};
