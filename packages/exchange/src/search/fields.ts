import type { Action, Credential, RequestMethod, Outcome } from '@standin/contract';
import type { ContainsField, NumberField, PatternField } from './filter.ts';

/** How a field's value is read. */
export type FieldKind = 'choice' | 'status' | 'duration' | 'size' | 'pattern' | 'contains' | 'header';

export interface Field {
  readonly kind: FieldKind;
  /** What the field searches, as a phrase for users. */
  readonly meaning: string;
  readonly example: string;
  /** All possible values, if there are only a few. */
  readonly values?: readonly string[];
}

// Copies of the lists in `contract`, because that package loads a validator that a search box in a browser does not need.
const METHOD_VALUES = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const satisfies readonly RequestMethod[];
const OUTCOME_VALUES = [
  'mocked',
  'template_failed',
  'forwarded',
  'fallback',
  'upstream_failed',
  'upstream_timeout',
  'exchange_timeout',
  'caller_gone',
  'response_unknown',
  'in_progress',
] as const satisfies readonly Outcome[];
const ACTION_VALUES = ['JSON', 'Forward'] as const satisfies readonly Action[];
const CREDENTIAL_VALUES = ['key', 'signature'] as const satisfies readonly Credential[];

/** Fields that have only a few values. */
export type ChoiceField = 'method' | 'outcome' | 'action' | 'credential';

/** Fields whose names do not contain a header name. */
export type PlainField = ChoiceField | ContainsField | PatternField | NumberField;

/** Every field, in the order in which a search box offers them. */
export const FIELDS: Readonly<Record<PlainField, Field>> = {
  method: { kind: 'choice', meaning: 'the method', example: 'method:POST', values: METHOD_VALUES },
  status: {
    kind: 'status',
    meaning: 'the response status, or none if no response was recorded',
    example: 'status:>=500',
  },
  path: { kind: 'pattern', meaning: 'the path after the project URI', example: 'path:/hooks/*' },
  query: { kind: 'contains', meaning: 'part of the query string, as sent', example: 'query:page=2' },
  body: { kind: 'contains', meaning: 'part of the request body', example: 'body:"refund"' },
  'resp.body': { kind: 'contains', meaning: 'part of the response body', example: 'resp.body:error' },
  dur: { kind: 'duration', meaning: 'the time from request to response', example: 'dur:>250ms' },
  size: { kind: 'size', meaning: 'stored size of both bodies in bytes', example: 'size:>10kb' },
  'req.size': { kind: 'size', meaning: 'size of the request body in bytes', example: 'req.size:0' },
  'resp.size': { kind: 'size', meaning: 'size of the response body in bytes, as sent', example: 'resp.size:>1mb' },
  endpoint: { kind: 'pattern', meaning: "the endpoint's name", example: 'endpoint:create-*' },
  response: {
    kind: 'pattern',
    meaning: 'the name of the response, or "" if the action responded',
    example: 'response:gold',
  },
  project: { kind: 'pattern', meaning: "the project's name", example: 'project:shop' },
  namespace: { kind: 'pattern', meaning: 'the namespace', example: 'namespace:team-a' },
  account: { kind: 'pattern', meaning: "the account's name", example: 'account:default' },
  outcome: {
    kind: 'choice',
    meaning: 'how the request ended',
    example: 'outcome:upstream_timeout',
    values: OUTCOME_VALUES,
  },
  action: { kind: 'choice', meaning: 'what the endpoint did', example: 'action:Forward', values: ACTION_VALUES },
  upstream: { kind: 'pattern', meaning: 'the requested upstream URL', example: 'upstream:https://api.example.com/*' },
  gateway: { kind: 'pattern', meaning: "the gateway's name", example: 'gateway:gateway-0' },
  key: { kind: 'pattern', meaning: "the key's fingerprint", example: 'key:0123abcd' },
  credential: {
    kind: 'choice',
    meaning: 'what the caller authenticated with',
    example: 'credential:signature',
    values: CREDENTIAL_VALUES,
  },
  delivery: { kind: 'pattern', meaning: "the provider's id of a signed delivery", example: 'delivery:evt_1a2b' },
  client: { kind: 'pattern', meaning: "the caller's address", example: 'client:10.0.*' },
  id: { kind: 'pattern', meaning: "the request's id, or its beginning followed by *", example: 'id:01931f3e-*' },
};

/** Prefixes of the fields whose names contain a header name, such as `header.accept`. */
export const HEADER_PREFIXES = {
  'header.': { side: 'request', meaning: 'a request header', example: 'header.x-github-event:push' },
  'resp.header.': {
    side: 'response',
    meaning: 'a response header',
    example: 'resp.header.content-type:text/*',
  },
} as const;

export const isPlainField = (name: string): name is PlainField => Object.hasOwn(FIELDS, name);

/**
 * Splits the name of a header field, such as `header.accept`, into its prefix and the header name. Returns undefined for any other
 * field.
 */
export const headerField = (
  name: string,
): { readonly prefix: keyof typeof HEADER_PREFIXES; readonly header: string } | undefined => {
  for (const prefix of ['header.', 'resp.header.'] as const) {
    if (name.startsWith(prefix)) return { prefix, header: name.slice(prefix.length) };
  }
  return undefined;
};

/** Matches a header name (RFC 9110 section 5.6.2). */
export const headerNameText = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Names that other tools use, with the corresponding fields. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  verb: 'method',
  code: 'status',
  duration: 'dur',
  latency: 'dur',
  time: 'dur',
  took: 'dur',
  url: 'path',
  uri: 'path',
  slug: 'path',
  params: 'query',
  ip: 'client',
  host: 'header.host',
  header: 'header.NAME',
  headers: 'header.NAME',
  'resp.header': 'resp.header.NAME',
  'resp.name': 'response',
  'req.body': 'body',
  'request.body': 'body',
  'response.body': 'resp.body',
  'res.body': 'resp.body',
  'response.size': 'resp.size',
  'resp.status': 'status',
  'larger-than': 'size',
};

const OTHER_PREFIXES: readonly (readonly [string, string])[] = [
  ['req.header.', 'header.'],
  ['request.header.', 'header.'],
  ['headers.', 'header.'],
  ['res.header.', 'resp.header.'],
  ['response.header.', 'resp.header.'],
  ['resp.headers.', 'resp.header.'],
];

/** Returns the Levenshtein distance, in which swapping neighbors is one step (optimal string alignment). */
const distance = (a: string, b: string): number => {
  const rows: number[][] = Array.from({ length: a.length + 1 }, (_row, i) => [i]);
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let j = 1; j <= b.length; j++) {
    (rows[0] ?? [])[j] = j;
    for (let i = 1; i <= a.length; i++) {
      const change = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? at(i - 2, j - 2) + 1 : change;
      (rows[i] ?? [])[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, change, swap);
    }
  }
  return at(a.length, b.length);
};

/** The maximum length of a name to correct. A longer name is not a typo. */
const NAME_LENGTH_MAX = 40;

/** Returns the closest name among `names`, if one is close enough. */
export const nearestName = (name: string, names: readonly string[]): string | undefined => {
  if (name.length > NAME_LENGTH_MAX) return undefined;
  const slipsMax = name.length <= 4 ? 1 : 2;
  const [best] = names
    .map((candidate) => ({ candidate, slips: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ slips }) => slips <= slipsMax)
    .sort((a, b) => a.slips - b.slips);
  return best?.candidate;
};

/** Suggests a field for an unknown name. */
export const suggestField = (name: string): string | undefined => {
  const lower = name.toLowerCase();
  if (Object.hasOwn(OTHER_NAMES, lower)) return OTHER_NAMES[lower];
  if (isPlainField(lower)) return lower;
  const known = ['header.', 'resp.header.'].find((prefix) => lower.startsWith(prefix));
  if (known !== undefined) return lower;
  for (const [other, prefix] of OTHER_PREFIXES) {
    if (lower.startsWith(other)) return prefix + lower.slice(other.length);
  }
  const near = nearestName(lower, Object.keys(FIELDS));
  // No field has a hyphen, but most headers have one.
  return near ?? (lower.includes('-') && headerNameText.test(lower) ? `header.${lower}` : undefined);
};
