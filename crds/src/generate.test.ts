import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CONDITION_TYPES, KINDS } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { customResourceDefinition, schemaDigest, SERVED_CONDITIONS } from './custom-resource-definition.ts';
import { generateManifests } from './generate.ts';
import { DEFINITIONS } from './kinds.ts';

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: unknown;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly [extension: `x-kubernetes-${string}`]: unknown;
}

const openApiSchema = (kind: (typeof KINDS)[number]): Schema => {
  const [version] = customResourceDefinition(DEFINITIONS[kind]).spec.versions;
  return version?.schema.openAPIV3Schema as Schema;
};

const nodes = (schema: Schema, at = ''): (readonly [path: string, schema: Schema])[] => [
  [at, schema],
  ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => nodes(field, `${at}.${name}`)),
  ...(schema.items ? nodes(schema.items, `${at}[]`) : []),
];
const allNodes = KINDS.flatMap((kind) => {
  const { spec = {}, status = {} } = openApiSchema(kind).properties ?? {};
  return [...nodes(spec, `${kind}.spec`), ...nodes(status, `${kind}.status`)];
});
const pathsWhere = (isWrong: (schema: Schema) => boolean): string[] =>
  allNodes.flatMap(([at, schema]) => (isWrong(schema) ? [at] : []));

it('the committed manifests are up to date with the schemas', () => {
  for (const [file, content] of generateManifests()) {
    expect(readFileSync(path.join(import.meta.dirname, '../..', file), 'utf8'), 'run npm run generate').toBe(content);
  }
});

it('every manifest fits in the annotation that kubectl apply writes', () => {
  for (const content of generateManifests().values()) expect(content.length).toBeLessThan(200_000);
});

it('the digest changes only when the schema changes', () => {
  const digests = KINDS.map((kind) => schemaDigest(DEFINITIONS[kind]));
  expect(new Set(digests).size).toBe(KINDS.length);
  const { Endpoint } = DEFINITIONS;
  expect(schemaDigest({ ...Endpoint })).toBe(schemaDigest(Endpoint));
  expect(schemaDigest({ ...Endpoint, description: 'other' })).not.toBe(schemaDigest(Endpoint));
});

describe('the schemas', () => {
  it('limit the length of every string', () => {
    expect(pathsWhere(({ type, enum: values, maxLength }) => type === 'string' && !values && !maxLength)).toEqual([]);
  });

  it('limit the length of every list and specify how it is merged', () => {
    const isOpen = (schema: Schema) => !schema.maxItems || !schema['x-kubernetes-list-type'];
    expect(pathsWhere((schema) => schema.type === 'array' && isOpen(schema))).toEqual([]);
  });

  it('limit the range of every number', () => {
    expect(pathsWhere(({ type, maximum }) => (type === 'number' || type === 'integer') && !maximum)).toEqual([]);
  });

  it('allow fractions only in percents', () => {
    expect(pathsWhere(({ type }) => type === 'number').filter((at) => !at.endsWith('.percent'))).toEqual([]);
  });

  it('do not use booleans, because an enum can be extended', () => {
    expect(pathsWhere(({ type }) => type === 'boolean')).toEqual([]);
  });

  it('do not set defaults in list items, which Argo CD would always show as a difference', () => {
    expect(allNodes.filter(([at, schema]) => at.includes('[]') && schema.default !== undefined)).toEqual([]);
  });

  it('prune unknown fields', () => {
    expect(pathsWhere((schema) => schema['x-kubernetes-preserve-unknown-fields'] !== undefined)).toEqual([]);
    expect(JSON.stringify(allNodes)).not.toContain('additionalProperties');
  });

  it('describe every field', () => {
    expect(pathsWhere(({ description = '' }) => !/^[A-Z][^]*[.]$/.test(description))).toEqual([]);
  });

  it('mention every default, which kubectl explain does not print', () => {
    const withDefault = allNodes.filter(([at, schema]) => at.includes('.spec') && schema.default !== undefined);
    expect(withDefault).toHaveLength(16);
    const silent = withDefault.filter(
      ([, { description, default: value }]) =>
        !description?.endsWith(` Default: ${typeof value === 'string' ? value : JSON.stringify(value)}.`),
    );
    expect(silent.map(([at]) => at)).toEqual([]);
  });

  it('describe each condition of the kind, and no others', () => {
    for (const kind of KINDS) {
      const conditions = openApiSchema(kind).properties?.['status']?.properties?.['conditions'];
      const types = [...(conditions?.description ?? '').matchAll(/ (\w+): /g)].map(([, type]) => type);
      expect(types, kind).toEqual(expect.arrayContaining([...(DEFINITIONS[kind].conditions ?? SERVED_CONDITIONS)]));
      expect(CONDITION_TYPES, kind).toEqual(expect.arrayContaining(types));
      expect(conditions?.items?.properties?.['type']?.description).toContain(`Known types: ${types.join(', ')}.`);
    }
  });
});
