import { isRecord, type Kind } from '@standin/contract';
import { customResourceDefinition } from './custom-resource-definition.ts';
import { DEFINITIONS } from './kinds.ts';

type Step = string | number;
type Fields = Readonly<Record<string, unknown>>;

/** The parts of a CRD's schema from which variants are generated. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

export interface Variant {
  /** What was changed, such as `spec.slug = ""`. */
  readonly what: string;
  readonly object: Fields;
}

/** One value of each type. */
const TYPES = [true, 1, 1.5, -1, '', 'a', [], [null], {}, { a: 1 }];

/** Names of fields that no schema has. Objects inherit some of them from their prototypes. */
const UNKNOWN = ['slgu', '__proto__', 'constructor', 'toString', 'true'];

/** Characters that some regular expressions, parsers or trims treat differently from others. */
const CHARACTERS = [
  ...[' ', '\t', '\n', '\r', '\v', '\0', '\x1f', '\x7f', '\x80', '\x85', '\xa0', '\xad', '\u2028', '\u2029', '\ufeff'],
  ...[
    'é',
    'ÿ',
    'Ā',
    'İ',
    'ſ',
    'K',
    '٣',
    '\u{1f600}',
    '\u{10ffff}',
    'A',
    'z',
    '0',
    '-',
    '_',
    '.',
    '..',
    '/',
    '//',
    '\\',
  ],
  ...[
    '{',
    '}',
    '{a}',
    '{a...}',
    '?',
    '#',
    '%',
    '%2',
    '%2e',
    '%zz',
    '+',
    '=',
    '"',
    "'",
    '$',
    '@',
    ':',
    ';',
    ',',
    '*',
    '[',
  ],
];

/** Texts that only some formats accept. */
const TEXTS = [
  ...['2026-11-21T09:00:00Z', '2026-02-28T09:00:00Z', '2026-02-29T09:00:00Z', '2024-02-29T09:00:00Z'],
  ...['2000-02-29T00:00:00Z', '2100-02-29T00:00:00Z', '2026-02-30T00:00:00Z', '2026-02-31T00:00:00Z'],
  ...['2026-04-30T00:00:00Z', '2026-04-31T00:00:00Z', '2026-06-31T00:00:00Z', '2026-09-31T00:00:00Z'],
  ...['2026-11-31T00:00:00Z', '2026-12-31T23:59:59Z', '2026-00-10T00:00:00Z', '2026-13-10T00:00:00Z'],
  ...['2026-11-00T00:00:00Z', '2026-11-21T24:00:00Z', '2026-11-21T25:00:00Z', '2026-11-21T23:60:00Z'],
  ...['2026-11-21T23:59:60Z', '2026-11-21T09:00Z', '2026-11-21T09:00:00', '2026-11-21', '2026-11-21t09:00:00z'],
  ...['2026-11-21T09:00:00+01:00', '2026-11-21 09:00:00Z', '2026-11-21T09:00:00.Z', '2026-11-21T09:00:00,5Z'],
  ...['2026-11-21T09:00:00.1Z', '2026-11-21T09:00:00.123456789Z', '2026-11-21T09:00:00.1234567891Z'],
  ...['1999-11-21T09:00:00Z', '+002026-11-21T09:00:00Z', '9999-12-31T23:59:59Z'],
  ...['0s', '1ms', '99ms', '100ms', '1s', '1m30s', '1.5s', '1h', '5m', '5m1ms', '300s', '300001ms', '1us', '-1s', 's'],
  ...['1m1m', '00001s', '000001s', '99999h99999h99999h99999h', '1s1s1s1s1s', '1S', '1 s'],
  ...['/', '/a', '/a/', '/a//b', '/./a', '/a/..', '/%2E/', '/%2e%2E', '/{a}/{b}', '/{a}x', '/{a...}/b', '/a?b', '/a#b'],
  ...['https://a', 'http://a:80/b?c=d', 'https://a:99999', 'https://u:p@a', 'https://[::1]/', 'ftp://a', 'HTTPS://a'],
  ...[
    'https://a/\u2028',
    'https://a/\n',
    'https://é',
    'YWJj',
    'YQ==',
    'YQ=',
    'YQ',
    'a',
    'A',
    '-a',
    'a-',
    'a.b',
    'a..b',
  ],
  ...['$', '$.a', '$..a', '$["a b"]', '$[0]', '$[*]', '$.a[?(@.b)]', '$.', '$[é]', '$["é"]'],
];

const repeated = (text: string, length: number): string => text.repeat(Math.max(0, length));

const texts = ({ minLength = 0, maxLength = 64 }: Schema, value: unknown): string[] => {
  const base = typeof value === 'string' ? value : 'a';
  const end = base.length;
  const longest = [maxLength, maxLength + 1].filter((length) => length <= 4_096);
  return [
    ...[minLength - 1, minLength].map((length) => repeated('a', length)),
    ...longest.flatMap((length) => [
      repeated('a', length),
      repeated('\u{1f600}', length),
      base + repeated('a', length - end),
    ]),
    ...CHARACTERS.flatMap((character) => [character + base, base + character]),
    ...TEXTS,
    base.toUpperCase(),
    base.toLowerCase(),
  ];
};

const numbers = ({ minimum = 0, maximum = 0 }: Schema): unknown[] => [
  ...[minimum - 1, minimum, maximum, maximum + 1, minimum + 0.5, -0, 1e21, Number.MAX_SAFE_INTEGER + 1],
  ...[String(minimum), `${minimum}.0`],
];

/** Fractions that only some programs round in the same way. */
const FRACTIONS = [0.07, 0.0001, 0.00001, 0.00005, 1e-9, 33.3333, 33.33333, 99.9999, 99.99999, 100.00001, 1.1 * 1.1];

/** Returns values for a field, whether or not the schema accepts them. */
const values = (schema: Schema, value: unknown): unknown[] => {
  if (schema.enum !== undefined)
    return schema.enum.flatMap((one) => [one, String(one).toLowerCase(), `${String(one)} `]);
  switch (schema.type) {
    case 'string':
      return texts(schema, value);
    case 'integer':
      return numbers(schema);
    case 'number':
      return [...numbers(schema), ...FRACTIONS];
    case 'array': {
      if (!Array.isArray(value) || value.length === 0) return [];
      const [first] = value as unknown[];
      const { maxItems = 0 } = schema;
      const full =
        maxItems > 128 ? [] : [maxItems, maxItems + 1].map((length) => new Array<unknown>(length).fill(first));
      return [...full, [...(value as unknown[]), first], [first, null]];
    }
    default:
      return [];
  }
};

type Change = readonly [path: readonly Step[], to: unknown];

/** Changes of what the API server checks in every object. */
const OF_ALL_KINDS: readonly Change[] = [
  ...[1, null].flatMap((to) => [['slgu'], ['metadata', 'slgu']].map((path) => [path, to] as const)),
  ...[undefined, null, '', 1, 'a.b', 'UPPER', '-a', 'a..b'].map((to) => [['metadata', 'name'], to] as const),
  ...[null, ''].map((to) => [['metadata', 'namespace'], to] as const),
  ...['x-', 'x--', '-', 'x.-', 'X-', 'x.', '', null].map((generateName) => [['metadata'], { generateName }] as const),
  ...[null, {}, { a: 'b' }, { a: null }, { a: 1 }, { a: true }, 'x', []].flatMap((to) =>
    ['labels', 'annotations'].map((field) => [['metadata', field], to] as const),
  ),
];

/** Adds the text. Returns whether it is new. */
const isNewIn = (texts: Set<string>, text: string): boolean => texts.size < texts.add(text).size;

/** Returns the constraints of a field, without those of the fields in it. Many fields have the same constraints. */
const constraints = (schema: Schema): string =>
  JSON.stringify({ ...schema, properties: undefined, items: undefined, description: undefined });

/** The fields and the constraints of which there are variants already. */
interface Done {
  readonly fields: Set<string>;
  readonly constraints: Set<string>;
}

/**
 * Returns the changes of a value, each as a path and what the value there becomes. `undefined` removes a field.
 *
 * @param done the fields and constraints of this value are added
 */
const changes = (schema: Schema, value: unknown, path: readonly Step[], done: Done): Change[] => {
  const isNew = value !== undefined && isNewIn(done.fields, path.join('.'));
  const details = isNew && isNewIn(done.constraints, constraints(schema)) ? values(schema, value) : [];
  const own = [undefined, null, ...(isNew ? TYPES : []), ...details].map((to) => [path, to] as const);
  const step = (name: Step, field: Schema, at: unknown): Change[] => changes(field, at, [...path, name], done);
  if (Array.isArray(value))
    return [...own, ...value.slice(0, 1).flatMap((item: unknown) => step(0, schema.items ?? {}, item))];
  if (!isRecord(value)) return own;
  const unknown = (isNew ? UNKNOWN : []).flatMap((name) => [1, null].map((to) => [[...path, name], to] as const));
  const { properties = {} } = schema;
  return [...own, ...unknown, ...Object.entries(properties).flatMap(([name, field]) => step(name, field, value[name]))];
};

const changed = (value: unknown, [step, ...rest]: readonly Step[], to: unknown): unknown => {
  if (step === undefined) return to;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === step ? changed(item, rest, to) : item));
  const fields = new Map(Object.entries(isRecord(value) ? value : {}));
  const after = changed(fields.get(String(step)), rest, to);
  if (after === undefined) fields.delete(String(step));
  else fields.set(String(step), after);
  return Object.fromEntries(fields);
};

/** Returns objects that each differ from one of these valid objects in one value, generated from the schemas in the CRDs. */
export const variants = (objects: readonly Fields[]): Variant[] => {
  const constraintsDone = new Set<string>();
  const found: Variant[] = [];
  for (const [kind, ofKind] of Map.groupBy(objects, (object) => object['kind'] as Kind)) {
    const [version] = customResourceDefinition(DEFINITIONS[kind]).spec.versions;
    const { properties = {} } = version?.schema.openAPIV3Schema as Schema;
    const done = { fields: new Set<string>(), constraints: constraintsDone };
    for (const [index, object] of ofKind.entries()) {
      const ofSpec = changes(properties['spec'] ?? {}, object['spec'], ['spec'], done);
      for (const [path, to] of [...(index === 0 ? OF_ALL_KINDS : []), ...ofSpec]) {
        const shown = (JSON.stringify(to) as string | undefined) ?? 'undefined';
        const what = `${kind} with ${path.join('.')} = ${shown.slice(0, 80)}`;
        found.push({ what, object: changed(object, path, to) as Fields });
      }
    }
  }
  return found;
};
