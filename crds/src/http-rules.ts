import { LIMITS, listText } from '@standin/contract';
import { lacks, matches, type Rule } from './rules.ts';

/** The characters of a path segment (RFC 3986 `pchar`), and `/`. */
const PATH_CHARACTER = "([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})";

/**
 * Rules for a path that reaches the gateway unchanged. Clients resolve `.` and `..` segments, including percent-encoded ones,
 * before they send a request, and some clients read `//` at the start of a target as a host, so no client could call such an
 * endpoint.
 */
const commonPathRules: readonly Rule<string>[] = [
  { cel: "self.startsWith('/')", holds: (self) => self.startsWith('/'), message: 'must begin with /' },
  {
    cel: "!self.contains('//')",
    holds: (self) => !self.includes('//'),
    message: 'must not contain //: write one slash between two segments',
  },
  lacks('[?#]', 'must not contain a query or fragment: requests match with any query, so write only the path'),
  lacks(
    '(^|/)(\\.|%2[eE]){1,2}(/|$)',
    'must not contain the segments . or ..: clients resolve them before they send a request',
  ),
  matches(
    `(${PATH_CHARACTER}|[?#{}])*`,
    "must contain only letters, digits, - . _ ~ ! $ & ' ( ) * + , ; = : @ / and escapes such as %20: percent-encode other characters",
  ),
];

export const pathRules: readonly Rule<string>[] = [
  ...commonPathRules,
  lacks('[{}]', 'must not contain { or }: write a literal brace as %7B or %7D'),
];

export const PARAMETER_NAME = '[A-Za-z_][A-Za-z0-9_]*';

/** The limits apply only to slugs with parameters. The operator checks what these rules do not, such as a name that occurs twice. */
export const slugRules: readonly Rule<string>[] = [
  ...commonPathRules,
  matches(
    `[^{}/]*(/([^{}/]*|[{]${PARAMETER_NAME}[}]([:.][^{}/:.]+)?))*(/[{]${PARAMETER_NAME}[.]{3}[}])?`,
    'must have each parameter as a whole segment, with a name of letters, digits and _, as in /orders/{id}, or with a suffix that begins ' +
      'with its only : or ., as in /orders/{id}:cancel. Only the last segment can be a parameter for the rest of the path, such as ' +
      '{rest...}. A literal brace is %7B or %7D',
  ),
  {
    cel: `self.split('{').size() <= ${LIMITS.patternParametersMax + 1}`,
    holds: (self) => self.split('{').length <= LIMITS.patternParametersMax + 1,
    message: `must have no more than ${LIMITS.patternParametersMax} parameters`,
  },
  {
    cel: `!self.contains('{') || self.split('/').size() <= ${LIMITS.patternSegmentsMax + 1}`,
    holds: (self) => !self.includes('{') || self.split('/').length <= LIMITS.patternSegmentsMax + 1,
    message: `must have no more than ${LIMITS.patternSegmentsMax} segments if it has parameters`,
  },
];

export const headerNameRules: readonly Rule<string>[] = [
  matches(
    "[!#$%&'*+.^_`|~0-9A-Za-z-]+",
    "must be an HTTP token: letters, digits and ! # $ % & ' * + - . ^ _ ` | ~, without spaces or colons",
  ),
];

export const headerValueRules: readonly Rule<string>[] = [
  lacks('[\\x00-\\x08\\x0a-\\x1f\\x7f]', 'must not contain line breaks or other control characters'),
  matches(
    '[\\x00-\\xff]*',
    'must contain only ISO-8859-1 characters, because HTTP headers are bytes: percent-encode other characters',
  ),
  lacks('^[ \\t]|[ \\t]$', 'must not begin or end with a space or tab: HTTP removes them'),
];

/**
 * Headers that a mock must not set, because the gateway itself frames responses and manages connections. `standin-rejected` would
 * make a response look like a rejection.
 */
const RESERVED_HEADERS = [
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'standin-rejected',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const;

export const mockHeaderRules: readonly Rule<{ name: string }>[] = [
  {
    cel: `!(self.name.lowerAscii() in [${RESERVED_HEADERS.map((name) => `'${name}'`).join(', ')}])`,
    holds: (self) => !(RESERVED_HEADERS as readonly string[]).includes(self.name.toLowerCase()),
    message: `must not be ${listText(RESERVED_HEADERS, 'or')}: the gateway frames the response and manages the connection`,
    field: 'name',
  },
];

/** Headers of a request that the gateway writes, besides the reserved ones. */
const UPSTREAM_HEADERS = [...RESERVED_HEADERS, 'expect', 'host'] as const;

export const upstreamHeaderRules: readonly Rule<{ name: string }>[] = [
  {
    cel: `!(self.name.lowerAscii() in [${UPSTREAM_HEADERS.map((name) => `'${name}'`).join(', ')}])`,
    holds: (self) => !(UPSTREAM_HEADERS as readonly string[]).includes(self.name.toLowerCase()),
    message: `must not be ${listText(UPSTREAM_HEADERS, 'or')}: the gateway frames the request and manages the connection. For host, set forward.host`,
    field: 'name',
  },
];

/** Headers that cannot hold a signature, because they frame the request, manage the connection or hold the API key. */
const UNSIGNED_HEADERS = [...RESERVED_HEADERS, 'expect', 'host', 'x-api-key'] as const;

export const signatureHeaderRules: readonly Rule<string>[] = [
  ...headerNameRules,
  {
    cel: `!(self.lowerAscii() in [${UNSIGNED_HEADERS.map((name) => `'${name}'`).join(', ')}])`,
    holds: (self) => !(UNSIGNED_HEADERS as readonly string[]).includes(self.toLowerCase()),
    message: `must not be ${listText(UNSIGNED_HEADERS, 'or')}: these headers cannot hold a signature`,
  },
];

/** Rules for an absolute URL that JavaScript, Go and curl interpret in the same way. */
export const upstreamUrlRules: readonly Rule<string>[] = [
  matches(
    'https?://([^/?#]*@)?([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?([/?#][\\s\\S]*)?',
    'must be http:// or https://, a host, and optionally a port and a path: https://api.example.com/orders',
  ),
  lacks(
    '^https?://[^/?#]*@',
    "must not contain a user name or password: the caller's authorization header is passed through",
  ),
  lacks('#', 'must not contain a fragment: it is never sent'),
  lacks(
    '[^\\x21\\x23-\\x5b\\x5d-\\x7e]',
    'must contain only visible ASCII characters other than " and \\: percent-encode other characters, write the host in punycode',
  ),
];
