import { API_GROUP, didYouMean, GROUP_VERSION, isRecord, KINDS, ownMember, type Kind } from '@standin/contract';
import { z } from 'zod';
import { NAME_LENGTH_MAX, SUBDOMAIN_PATTERN } from './fields.ts';
import { DEFINITIONS } from './kinds.ts';

/**
 * A problem with an object. `message` says what to change. If the API server would reject the object with a clear message,
 * `message` is that message.
 */
export interface Problem {
  /** For example, `spec.json.headers[0].name`. */
  readonly path: string;
  readonly message: string;
}

export type Specs = { readonly [K in Kind]: z.output<(typeof DEFINITIONS)[K]['spec']> };

/** A valid object. `spec` matches `kind`, and defaults are filled in. */
export type ParsedObject = { readonly [K in Kind]: { readonly kind: K; readonly spec: Specs[K] } }[Kind];

export type ParseResult =
  | { readonly ok: true; readonly value: ParsedObject }
  | {
      readonly ok: false;
      readonly problems: readonly Problem[];
      /** Whether the spec has an unknown field, or an unknown value of an enumeration, as an object of a later version may have. */
      readonly isMaybeLater: boolean;
    };

/**
 * Checks an object as the API server would with `kubectl create --validate=strict`. Ignores `status`, which belongs to the operator.
 * In `metadata`, checks the names of the fields, the name, the namespace, and that labels and annotations are text.
 */
export const parseObject = (object: unknown): ParseResult => {
  if (!isRecord(object))
    return failed([{ path: '', message: 'must be a mapping with apiVersion, kind, metadata and spec' }]);
  const kind = parseKind(object);
  if (typeof kind !== 'string') return failed([kind]);
  const metadata = isRecord(object['metadata']) ? object['metadata'] : {};
  const own = [...unknownFields(object, ROOT_FIELDS), ...metadataProblems(kind, metadata)];
  const { spec: schema } = DEFINITIONS[kind];
  const spec = schema.safeParse(withoutNulls(object['spec'] ?? undefined, schema), { error: issueMessage });
  // This is not `push(...)`, because a malformed object can have more problems than a call can have arguments.
  const problems = spec.success
    ? own
    : own.concat(misspelledFirst(spec.error.issues).flatMap((issue) => issueProblems(issue, schema)));
  if (!spec.success || problems.length > 0) return failed(problems, spec.error?.issues.some(isUnknown));
  return { ok: true, value: { kind, spec: spec.data } as ParsedObject };
};

/** Returns the reasons why an object's spec must not change from `before` to `after`. Both specs are valid. */
export const checkUpdate = <K extends Kind>(kind: K, before: Specs[K], after: Specs[K]): Problem[] =>
  DEFINITIONS[kind].transitions
    .filter(({ holds }) => !(holds as (self: Specs[K], oldSelf: Specs[K]) => boolean)(after, before))
    .map(({ field, message }) => ({ path: ['spec', ...(field === undefined ? [] : [field])].join('.'), message }));

/**
 * Removes the null fields that the schema has, because the API server treats such a field (an empty `plan:` in YAML) as missing. A
 * null field that the schema does not have is an unknown field.
 */
export const withoutNulls = (value: unknown, schema: z.core.$ZodType): unknown => {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return withoutNulls(value, schema.unwrap());
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => withoutNulls(item, schema.element));
  if (!(schema instanceof z.ZodObject) || !isRecord(value)) return value;
  const known: ReadonlyMap<string, z.core.$ZodType> = new Map(Object.entries(schema.shape));
  const fields = Object.entries(value).filter(([name, field]) => field !== null || !known.has(name));
  return Object.fromEntries(
    fields.map(([name, field]) => [name, withoutNulls(field, known.get(name) ?? UNKNOWN_FIELD)]),
  );
};
const UNKNOWN_FIELD = z.unknown();

const failed = (problems: readonly Problem[], isMaybeLater = false): ParseResult => ({
  ok: false,
  problems,
  isMaybeLater,
});

/** Puts unknown fields before missing ones, because a required field is often missing because its name is misspelled. */
const misspelledFirst = (issues: readonly Issue[]): Issue[] => {
  const isMisspelled = ({ code }: Issue): boolean => code === 'unrecognized_keys';
  return [...issues.filter(isMisspelled), ...issues.filter((issue) => !isMisspelled(issue))];
};

const isUnknown = (issue: Issue): boolean =>
  issue.code === 'unrecognized_keys' || (issue.code === 'invalid_value' && issue.message !== REQUIRED);

const parseKind = ({ apiVersion, kind }: Record<string, unknown>): Kind | Problem => {
  if (apiVersion !== GROUP_VERSION) {
    const isOurs = typeof apiVersion === 'string' && apiVersion.startsWith(`${API_GROUP}/`);
    return {
      path: 'apiVersion',
      message: `must be ${GROUP_VERSION}${isOurs ? '' : ', the only group and version that Standin reads'}`,
    };
  }
  const known = KINDS.find((name) => name === kind);
  return known ?? { path: 'kind', message: unsupported(kind, KINDS) };
};

const ROOT_FIELDS: readonly string[] = ['apiVersion', 'kind', 'metadata', 'spec', 'status'];
/** The fields of Kubernetes' `ObjectMeta` (meta/v1). */
const METADATA_FIELDS: readonly string[] = [
  ...['annotations', 'creationTimestamp', 'deletionGracePeriodSeconds', 'deletionTimestamp', 'finalizers'],
  ...['generateName', 'generation', 'labels', 'managedFields', 'name', 'namespace', 'ownerReferences'],
  ...['resourceVersion', 'selfLink', 'uid'],
];
const unknownFields = (object: Readonly<Record<string, unknown>>, known: readonly string[], parent = ''): Problem[] =>
  Object.keys(object)
    .filter((field) => !known.includes(field))
    .map((field, index) => ({ path: parent + field, message: unknownField(parent + field, field, index, known) }));

/** The fields of an object for which a name is suggested, because an object can have very many unknown fields. */
const SUGGESTIONS_MAX = 20;

const unknownField = (path: string, field: string, index: number, known: Iterable<string>): string =>
  `unknown field "${path}"${index < SUGGESTIONS_MAX ? didYouMean(field, known) : ''}`;

const SUBDOMAIN = new RegExp(`^${SUBDOMAIN_PATTERN}$`);
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const NAMESPACE_LENGTH_MAX = 63;
const GENERATED_PREFIX_LENGTH_MAX = 58;

type Metadata = Readonly<Record<string, unknown>>;

const metadataProblems = (kind: Kind, metadata: Metadata): Problem[] => {
  const { namespace } = metadata;
  const problems = [...unknownFields(metadata, METADATA_FIELDS, 'metadata.'), ...nameProblems(kind, metadata)];
  const isNamespace =
    typeof namespace === 'string' && namespace.length <= NAMESPACE_LENGTH_MAX && LABEL.test(namespace);
  if (!isBlank(namespace) && !isNamespace) {
    problems.push({
      path: 'metadata.namespace',
      message: 'must be the name of a namespace: at most 63 letters, digits and -',
    });
  }
  for (const field of ['labels', 'annotations'] as const) {
    const value = metadata[field];
    if (!isTextMap(value ?? {}))
      problems.push({
        path: `metadata.${field}`,
        message: 'must be a map of strings to strings: put other values in quotes',
      });
  }
  return problems;
};

const isBlank = (value: unknown): boolean => value === undefined || value === null || value === '';

/** The API server reads a null value as empty text. */
const isTextMap = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).every((text) => text === null || typeof text === 'string');

/** Checks the API server's own rules for names (RFC 1123) and the rules of the kind. */
const nameProblems = (kind: Kind, { name, generateName }: Metadata): Problem[] => {
  const problems: Problem[] = [];
  const path = 'metadata.name';
  if (isBlank(name) && typeof generateName === 'string' && generateName !== '') {
    // The API server checks the prefix, without a hyphen at its end, and the name that it generates from the prefix.
    const checked = [generateName.replace(/.-$/, 'a'), `${generateName.slice(0, GENERATED_PREFIX_LENGTH_MAX)}a`];
    if (checked.some((text) => text.length > NAME_LENGTH_MAX || !SUBDOMAIN.test(text)))
      problems.push({ path: 'metadata.generateName', message: RFC_1123 });
  } else if (typeof name !== 'string' || name === '')
    problems.push({ path, message: 'Required value: name or generateName is required' });
  else {
    if (name.length > NAME_LENGTH_MAX)
      problems.push({ path, message: `must be no more than ${NAME_LENGTH_MAX} characters` });
    else if (!SUBDOMAIN.test(name)) problems.push({ path, message: RFC_1123 });
    for (const { holds, message } of DEFINITIONS[kind].nameRules) if (!holds(name)) problems.push({ path, message });
  }
  return problems;
};
const RFC_1123 =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

type Issue = z.core.$ZodIssue;
type RawIssue = z.core.$ZodRawIssue;

/**
 * Returns the API server's wording, so that a message is the same everywhere. `text` has clearer messages for values that are too
 * short.
 */
const issueMessage = (issue: RawIssue): string | undefined => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? REQUIRED
        : `must be of type ${expectedType(issue)}: "${typeName(issue.input)}"${quotesHint(expectedType(issue), issue.input)}`;
    case 'invalid_value':
      return issue.input === undefined ? REQUIRED : unsupported(issue.input, issue.values);
    case 'too_big':
      return issue.origin === 'array'
        ? `Too many: ${(issue.input as unknown[]).length}: must have at most ${issue.maximum} items`
        : `should be less than or equal to ${issue.maximum}`;
    case 'too_small':
      if (issue.origin === 'array') return `should have at least ${issue.minimum} items`;
      return `should be greater than or equal to ${issue.minimum}`;
    default:
      return undefined;
  }
};
/** YAML reads text without quotes as a number, a boolean or an object, if it looks like one. */
const quotesHint = (expected: string, input: unknown): string => {
  const isText = typeof input === 'string';
  if (expected === 'string' && !isText)
    return isRecord(input) || Array.isArray(input)
      ? ': put it in quotes, or write it as a block after |'
      : ': put it in quotes';
  const isNumber = isText && ownMember(NUMBERS, expected)?.test(input);
  return isNumber === true ? ': remove the quotes' : '';
};
const NUMBERS: Readonly<Record<string, RegExp>> = { integer: /^-?\d+$/, number: /^-?\d+(\.\d+)?$/ };
const REQUIRED = 'Required value';

/** Returns the name of the type in JSON Schema that a field has. */
const expectedType = ({ expected, inst }: Extract<RawIssue, { readonly code: 'invalid_type' }>): string =>
  inst instanceof z.ZodNumberFormat ? 'integer' : expected;

/** Returns the type's name in JSON Schema, or a number that JSON does not have. */
const typeName = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value !== 'number') return typeof value;
  if (!Number.isFinite(value)) return String(value);
  return Number.isInteger(value) ? 'integer' : 'number';
};

/** Describes an unsupported value. Values are untrusted, so they are truncated before they are shown. */
const unsupported = (value: unknown, values: readonly unknown[]): string => {
  const shown = (JSON.stringify(value) as string | undefined) ?? '""';
  const listed = values.map((option) => JSON.stringify(option)).join(', ');
  return `Unsupported value: ${shown.length > 80 ? `${shown.slice(0, 80)}…` : shown}: supported values: ${listed}`;
};

const issueProblems = (issue: Issue, schema: z.core.$ZodType): Problem[] => {
  const path = `spec${joinPath(issue.path)}`;
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  const known = fieldsAt(schema, issue.path);
  return issue.keys.map((key, index) => ({
    path: `${path}.${key}`,
    message: `${unknownField(`${path}.${key}`, key, index, known)}${key === 'true' ? ON_AS_TRUE : ''}`,
  }));
};

/** Returns the names of the fields of the object at a path. */
const fieldsAt = (schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] => {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return fieldsAt(schema.unwrap(), path);
  const [step, ...rest] = path;
  if (schema instanceof z.ZodArray) return fieldsAt(schema.element, rest);
  if (!(schema instanceof z.ZodObject)) return [];
  const fields: ReadonlyMap<string, z.core.$ZodType> = new Map(Object.entries(schema.shape));
  return step === undefined ? [...fields.keys()] : fieldsAt(fields.get(String(step)) ?? UNKNOWN_FIELD, rest);
};

/** kubectl reads YAML 1.1, in which an unquoted `on` is a boolean. */
const ON_AS_TRUE = ': in YAML, on means true; write the name of the field in quotes ("on")';

const joinPath = (path: readonly PropertyKey[]): string =>
  path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('');
