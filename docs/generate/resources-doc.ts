import { readFileSync } from 'node:fs';
import path from 'node:path';
import { KINDS, listText, RESOURCES, type Kind } from '@standin/contract';
import { customResourceDefinition, DEFINITIONS } from '@standin/crds';
import { z } from 'zod';
import { ROOT } from './checkout.ts';
import { headingSlug } from './heading-slug.ts';
import { GENERATED, item, linked, plain } from './markdown.ts';

const ruleSchema = z.object({ rule: z.string(), message: z.string(), fieldPath: z.string().optional() });

/** The parts of a structural schema that the reference shows. */
const schemaSchema = z.object({
  type: z.string(),
  format: z.string().optional(),
  description: z.string().default(''),
  enum: z.array(z.string()).optional(),
  required: z.array(z.string()).default([]),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  'x-kubernetes-validations': z.array(ruleSchema).default([]),
  'x-kubernetes-list-map-keys': z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), schemaSchema).optional();
  },
  get items() {
    return schemaSchema.optional();
  },
});
type Schema = z.output<typeof schemaSchema>;

/** A manifest of each kind, relative to the checkout's root. The tests send all examples to a real API server. */
const EXAMPLES: Readonly<Record<Kind, string>> = {
  Account: 'crds/examples/own-key/account.yaml',
  Project: 'crds/examples/quickstart/project.yaml',
  Endpoint: 'crds/examples/quickstart/create-order.yaml',
  Replay: 'crds/examples/operations/replay-outage.yaml',
  Share: 'crds/examples/operations/share.yaml',
  KeyRegeneration: 'crds/examples/operations/regenerate-key.yaml',
  Purge: 'crds/examples/operations/purge.yaml',
  Expectation: 'crds/examples/operations/expect-refund.yaml',
};

const FOLDER = 'docs/reference/resources';

const range = (min: number | undefined, max: number | undefined, unit: string): string => {
  // The API server's own bounds are of no use to readers.
  const top = max === Number.MAX_SAFE_INTEGER || max === 2 ** 31 - 1 ? undefined : max;
  const number = (value: number): string => value.toLocaleString('en-US');
  if (min === top && min !== undefined) return `${number(min)}${unit}`;
  if (top === undefined) return (min ?? 0) > 0 ? `at least ${number(min ?? 0)}${unit}` : '';
  return (min ?? 0) > 0 ? `${number(min ?? 0)} to ${number(top)}${unit}` : `at most ${number(top)}${unit}`;
};

const typeText = (schema: Schema): string => {
  if (schema.enum !== undefined)
    return listText(
      schema.enum.map((value) => `\`${value}\``),
      'or',
    );
  if (schema.type === 'array' && schema.items !== undefined) {
    const element = schema.items.properties === undefined ? typeText(schema.items) : 'objects';
    return [`list of ${element}`, range(schema.minItems, schema.maxItems, ' items')].filter(Boolean).join('; ');
  }
  if (schema.type === 'integer' || schema.type === 'number')
    return [schema.type, range(schema.minimum, schema.maximum, '')].filter(Boolean).join(', ');
  if (schema.format === 'date-time') return 'RFC 3339 time';
  if (schema.type === 'string') {
    return ['string', range(schema.minLength, schema.maxLength, ' characters')].filter(Boolean).join(', ');
  }
  return schema.type;
};

/** Whether a rule compares a field with its previous value, which makes the field immutable. */
const isImmutable = (rules: Schema['x-kubernetes-validations']): boolean =>
  rules.some(({ rule }) => rule.includes('oldSelf'));

/** Returns the path of an object below another, and its schema. For a list of objects, these are those of its elements. */
const objectIn = (at: string, name: string, field: Schema): { readonly path: string; readonly schema: Schema } =>
  field.items?.properties === undefined
    ? { path: `${at}.${name}`, schema: field }
    : { path: `${at}.${name}[]`, schema: field.items };

/** The fields of every status, which docs/reference/conditions.md describes. */
const COMMON: readonly string[] = ['status.conditions', 'status.observedGeneration'];

/** A longer description that occurs again on a page becomes a link to the first one. */
const REPEATED_LENGTH_MAX = 80;

/**
 * Returns the fields of an object as a list, followed by the sections of the objects in it. `described` has the section of each object
 * and each description that the page contains.
 */
const sections = (at: string, schema: Schema, level: '##' | '###', described: Map<string, string>): string[] => {
  const inner: string[] = [];
  const own = Object.entries(schema.properties ?? {}).filter(([name]) => !COMMON.includes(`${at}.${name}`));
  const fields = own.map(([name, field]) => {
    const { path, schema: object } = objectIn(at, name, field);
    const rules = schema['x-kubernetes-validations'].filter(({ fieldPath }) => fieldPath === `.${name}`);
    const facts = [
      typeText(field),
      schema.required.includes(name) ? 'required' : '',
      isImmutable([...rules, ...field['x-kubernetes-validations']]) ? 'immutable' : '',
    ];
    let title = `\`${name}\``;
    if (object.properties !== undefined) {
      // The same object in two places, such as a delay, has one section.
      const key = JSON.stringify(object.properties);
      const known = described.get(key);
      if (known === undefined) {
        described.set(key, path);
        inner.push(...sections(path, object, '###', described));
      }
      title = `[${title}](#${headingSlug(known ?? path)})`;
    }
    const text = field.description;
    const section = described.get(text);
    if (section !== undefined && text.length > REPEATED_LENGTH_MAX)
      return item(title, facts, [`As in [\`${section}\`](#${headingSlug(section)})`]);
    described.set(text, at);
    return item(title, facts, [linked(plain(text), `${FOLDER}/README.md`)]);
  });
  const common =
    at === 'status' ? ['Every status also has [`conditions` and `observedGeneration`](../conditions.md).'] : [];
  return [`${level} ${at}`, ...common, ...(fields.length === 0 ? [] : [fields.join('\n')]), ...inner];
};

/** Returns the reference of a kind: a page with all fields of spec and status, generated from the CustomResourceDefinition. */
const resourceDoc = (kind: Kind): string => {
  const definition = DEFINITIONS[kind];
  const schema = schemaSchema.parse(customResourceDefinition(definition).spec.versions[0]?.schema.openAPIV3Schema);
  const { plural, singular, shortNames } = RESOURCES[kind];
  const { spec, status } = schema.properties ?? {};
  if (spec === undefined || status === undefined) throw new Error(`${kind} has no spec or no status`);
  const names = listText(
    [plural, singular, ...shortNames].map((name) => `\`${name}\``),
    'or',
  );
  const described = new Map<string, string>();
  const example = readFileSync(path.join(ROOT, EXAMPLES[kind]), 'utf8').trimEnd();
  return `${[
    `# ${kind}`,
    GENERATED,
    `${definition.description} kubectl accepts the names ${names}.`,
    `\`\`\`yaml\n${example}\n\`\`\``,
    ...sections('spec', spec, '##', described),
    ...sections('status', status, '##', described),
  ].join('\n\n')}\n`;
};

const indexDoc = (): string => `# Resources

${GENERATED}

One page for each kind, with all fields of \`spec\` and \`status\`. \`kubectl explain\` shows the same descriptions. If a manifest breaks
a rule between fields, \`kubectl apply\` and \`standin validate\` name the field and what to change.

${KINDS.map((kind) =>
  item(
    `[${kind}](${kind.toLowerCase()}.md)`,
    [`\`${RESOURCES[kind].plural}\``],
    [plain(DEFINITIONS[kind].description)],
  ),
).join('\n')}
`;

/** Returns the reference of the resources as text by path: an index, and a page for each kind. */
export const resourceDocs = (): ReadonlyMap<string, string> =>
  new Map([
    [`${FOLDER}/README.md`, indexDoc()],
    ...KINDS.map((kind) => [`${FOLDER}/${kind.toLowerCase()}.md`, resourceDoc(kind)] as const),
  ]);
