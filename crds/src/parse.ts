import { API_GROUP, GROUP_VERSION, isRecord, KINDS, type Kind } from '@standin/contract';
import type { z } from 'zod';
import { NAME_LENGTH_MAX, SUBDOMAIN_PATTERN } from './fields.ts';
import { DEFINITIONS } from './kinds.ts';
import type { AccountSpec } from './v1alpha1/account.ts';
import type { EndpointSpec } from './v1alpha1/endpoint.ts';
import type { KeyRegenerationSpec } from './v1alpha1/key-regeneration.ts';
import type { ProjectSpec } from './v1alpha1/project.ts';
import type { PurgeSpec } from './v1alpha1/purge.ts';
import type { ReplaySpec } from './v1alpha1/replay.ts';
import type { ShareSpec } from './v1alpha1/share.ts';

/**
 * A problem with an object. `message` says what to change. If the API server would reject the object with a clear message,
 * `message` is that message.
 */
export interface Problem {
  /** For example, `spec.json.headers[0].name`. */
  readonly path: string;
  readonly message: string;
}

export interface Specs {
  readonly Account: AccountSpec;
  readonly Project: ProjectSpec;
  readonly Endpoint: EndpointSpec;
  readonly Replay: ReplaySpec;
  readonly Share: ShareSpec;
  readonly KeyRegeneration: KeyRegenerationSpec;
  readonly Purge: PurgeSpec;
}

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
 * Checks an object as the API server would with `--validate=strict`. Ignores `status`, which belongs to the operator, and the
 * fields of `metadata` other than name and namespace.
 */
export const parseObject = (object: unknown): ParseResult => {
  if (!isRecord(object))
    return failed([{ path: '', message: 'must be a mapping with apiVersion, kind, metadata and spec' }]);
  const kind = kindOf(object);
  if (typeof kind !== 'string') return failed([kind]);
  const own = [...unknownFields(object), ...nameProblems(kind, object['metadata'])];
  const spec = DEFINITIONS[kind].spec.safeParse(withoutNulls(object['spec']), {
    error: messageOf,
  });
  // This is not `push(...)`, because a malformed object can have more problems than a call can have arguments.
  const problems = spec.success ? own : own.concat(spec.error.issues.flatMap(problemsOf));
  if (!spec.success || problems.length > 0) return failed(problems, spec.error?.issues.some(isUnknown));
  return { ok: true, value: { kind, spec: spec.data } as ParsedObject };
};

/** Returns the reasons why an object's spec must not change from `before` to `after`. Both specs are valid. */
export const checkUpdate = <K extends Kind>(kind: K, before: Specs[K], after: Specs[K]): Problem[] =>
  DEFINITIONS[kind].transitions
    .filter(({ holds }) => !(holds as (self: Specs[K], oldSelf: Specs[K]) => boolean)(after, before))
    .map(({ field, message }) => ({ path: ['spec', ...(field === undefined ? [] : [field])].join('.'), message }));

/** More levels than any schema in this package has. */
const DEPTH_MAX = 10;

/** Removes null fields, because the API server treats a null field (an empty `plan:` in YAML) as missing. */
const withoutNulls = (value: unknown, depth = 0): unknown => {
  if (value === null && depth === 0) return undefined;
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1));
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field, depth + 1)]));
};

const failed = (problems: readonly Problem[], isMaybeLater = false): ParseResult => ({
  ok: false,
  problems,
  isMaybeLater,
});

const isUnknown = (issue: Issue): boolean =>
  issue.code === 'unrecognized_keys' || (issue.code === 'invalid_value' && issue.message !== REQUIRED);

const kindOf = ({ apiVersion, kind }: Record<string, unknown>): Kind | Problem => {
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
const unknownFields = (object: Record<string, unknown>): Problem[] =>
  Object.keys(object)
    .filter((field) => !ROOT_FIELDS.includes(field))
    .map((field) => ({ path: field, message: `unknown field "${field}"` }));

const SUBDOMAIN = new RegExp(`^${SUBDOMAIN_PATTERN}$`);
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const NAMESPACE_LENGTH_MAX = 63;

/** Checks the API server's own rules for names (RFC 1123) and the rules of the kind. */
const nameProblems = (kind: Kind, metadata: unknown): Problem[] => {
  const { name, namespace } = isRecord(metadata) ? metadata : {};
  const problems: Problem[] = [];
  const path = 'metadata.name';
  if (typeof name !== 'string' || name === '')
    problems.push({ path, message: 'Required value: name or generateName is required' });
  else {
    if (name.length > NAME_LENGTH_MAX)
      problems.push({ path, message: `must be no more than ${NAME_LENGTH_MAX} characters` });
    else if (!SUBDOMAIN.test(name)) problems.push({ path, message: RFC_1123 });
    for (const { holds, message } of DEFINITIONS[kind].nameRules) if (!holds(name)) problems.push({ path, message });
  }
  const isNamespace =
    typeof namespace === 'string' && namespace.length <= NAMESPACE_LENGTH_MAX && LABEL.test(namespace);
  if (namespace !== undefined && !isNamespace) {
    problems.push({
      path: 'metadata.namespace',
      message: 'must be the name of a namespace: at most 63 letters, digits and -',
    });
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
const messageOf = (issue: RawIssue): string | undefined => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? REQUIRED
        : `must be of type ${TYPE_NAMES[issue.expected] ?? issue.expected}: "${typeName(issue.input)}"`;
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
const REQUIRED = 'Required value';
const TYPE_NAMES: Readonly<Record<string, string>> = { int: 'integer', number: 'integer' };

/** Returns the type's name in JSON Schema. */
const typeName = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
};

/** Describes an unsupported value. Values are untrusted, so they are truncated before they are shown. */
const unsupported = (value: unknown, values: readonly unknown[]): string => {
  const shown = (JSON.stringify(value) as string | undefined) ?? '""';
  const listed = values.map((option) => JSON.stringify(option)).join(', ');
  return `Unsupported value: ${shown.length > 80 ? `${shown.slice(0, 80)}…` : shown}: supported values: ${listed}`;
};

const problemsOf = (issue: Issue): Problem[] => {
  const path = `spec${joinPath(issue.path)}`;
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  return issue.keys.map((key) => ({
    path: `${path}.${key}`,
    message: `unknown field "${path}.${key}"${key === 'true' ? ON_AS_TRUE : ''}`,
  }));
};

/** kubectl reads YAML 1.1, in which an unquoted `on` is a boolean. */
const ON_AS_TRUE = ': in YAML, on means true; write the name of the field in quotes ("on")';

const joinPath = (path: readonly PropertyKey[]): string =>
  path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('');
