import {
  ACTIONS,
  FALLBACK_REASONS,
  LIMITS,
  METHODS,
  UPSTREAM_CA_LABEL,
  UPSTREAM_HOSTS,
  UPSTREAM_ORIGINS_ANNOTATION,
  UPSTREAM_REWRITES,
} from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind, MESSAGE_COLUMN, READY_COLUMNS } from '../definition.ts';
import { durationRules } from '../duration.ts';
import {
  commonStatus,
  integer,
  NAME_LENGTH_MAX,
  objectName,
  reference,
  secretRef,
  SERVED_MEANINGS,
  SUBDOMAIN_PATTERN,
  text,
  uniqueItems,
  uniqueNames,
  usedSecrets,
} from '../fields.ts';
import {
  headerNameRules,
  headerValueRules,
  mockHeaderRules,
  pathRules,
  slugRules,
  upstreamHeaderRules,
  upstreamUrlRules,
} from '../http-rules.ts';
import { lacks, matches, withRules, type Rule } from '../rules.ts';
import { credential } from './credential.ts';
import { json, responses } from './responses.ts';

const FORWARD_TIMEOUT_MS_MIN = 100;

const serviceRef = z.strictObject({
  name: withRules(text({ min: 1, max: 63 }), [
    matches(
      '[a-z0-9]([a-z0-9-]*[a-z0-9])?',
      'must be the name of a Service: lowercase letters, digits and -, beginning and ending with a letter or digit',
    ),
  ]).describe('Name of a Service in the same namespace, for example warehouse.'),
  port: integer(1, 65_535).describe('A TCP port of the Service, for example 8080.'),
  path: withRules(text({ min: 1, max: LIMITS.slugLengthMax }), pathRules)
    .default('/')
    .describe('Path for requests to the Service, for example /api/stock.'),
  scheme: z.enum(['http', 'https']).default('http').describe('Protocol for requests to the Service.'),
});

const caRef = z.strictObject({
  kind: z.enum(['ConfigMap']).default('ConfigMap').describe('ConfigMap.'),
  name: objectName('a ConfigMap').describe(
    `Name of a ConfigMap in the same namespace with the label ${UPSTREAM_CA_LABEL}: "true", for example internal-ca.`,
  ),
  key: withRules(text({ min: 1, max: NAME_LENGTH_MAX }), [
    matches('[-._A-Za-z0-9]+', 'must be a data key: letters, digits, -, _ and .'),
  ])
    .default('ca.crt')
    .describe('The data key with the certificates, in PEM, for example ca.crt.'),
});

const tls = withRules(
  z.strictObject({
    caRef: caRef
      .optional()
      .describe(
        "The authorities that sign the upstream's certificate. They replace those that are trusted otherwise. If it is omitted, the public authorities and those of the setting egress.ca.",
      ),
    serverName: withRules(text({ min: 1, max: NAME_LENGTH_MAX }), [
      matches(
        SUBDOMAIN_PATTERN,
        'must be a DNS name, without a wildcard, a port and a dot at the end: lowercase letters, digits, - and .',
      ),
      lacks('(^|[.])[0-9]+$', 'must be a DNS name, not an IP address'),
    ])
      .optional()
      .describe(
        "The name that the upstream is asked for in TLS (SNI), and that its certificate must have, for example orders.internal. If it is omitted, the host of the upstream's URL.",
      ),
  }),
  [
    {
      cel: 'has(self.caRef) || has(self.serverName)',
      holds: (self) => self.caRef !== undefined || self.serverName !== undefined,
      message: 'requires caRef, serverName or both',
    },
  ],
);

const fallback = z.strictObject({
  on: uniqueItems(
    z.array(z.enum(FALLBACK_REASONS).describe('A reason for the fallback.')).min(1).max(FALLBACK_REASONS.length),
  ).describe(
    'When spec.json responds, for example [Unreachable, Timeout]. In YAML, the name of this field must be in quotes: "on". Unreachable: no connection is possible or allowed, or it ends without a response. Timeout: the response does not begin within forward.timeout. ' +
      "InvalidAnswer: the head of the response is not valid HTTP. ServerError: the upstream's status is 500 to 599.",
  ),
});

const headerName = () => withRules(text({ min: 1, max: LIMITS.headerNameLengthMax }), headerNameRules);

const header = {
  name: headerName().describe('The name of the header.'),
  value: withRules(text({ max: LIMITS.headerValueLengthMax }), headerValueRules).describe(
    'The value of the header, verbatim.',
  ),
};

const responseHeader = withRules(z.strictObject(header), mockHeaderRules);

const requestHeader = withRules(
  z.strictObject({
    name: header.name,
    value: header.value.optional(),
    valueFrom: z
      .strictObject({
        secretRef: secretRef('Upstream', 'the value of the header', { name: 'upstream', key: 'token' }).describe(
          'The Secret with the value.',
        ),
      })
      .optional()
      .describe(
        `Takes the value from a Secret instead of value. The annotation ${UPSTREAM_ORIGINS_ANNOTATION} of the Secret must contain the https origin of the upstream, for example https://api.example.com. Requires host: Upstream.`,
      ),
  }),
  [
    ...upstreamHeaderRules,
    {
      cel: 'has(self.value) != has(self.valueFrom)',
      holds: ({ value, valueFrom }: { value?: unknown; valueFrom?: unknown }) =>
        (value === undefined) !== (valueFrom === undefined),
      message: 'requires either value or valueFrom, but not both',
    },
  ],
);

const fewSecrets: Rule<readonly { valueFrom?: unknown }[]> = {
  cel: `self.filter(header, has(header.valueFrom)).size() <= ${LIMITS.upstreamSecretsMax}`,
  holds: (self) => self.filter(({ valueFrom }) => valueFrom !== undefined).length <= LIMITS.upstreamSecretsMax,
  message: `must not have more than ${LIMITS.upstreamSecretsMax} headers with valueFrom`,
};

const headers = <S extends z.ZodType<{ name: string }>>(item: S) =>
  uniqueNames(z.array(item.describe('A header.')).max(LIMITS.headerChangesMax));

/** @param set the headers that may be set */
const headerChanges = <S extends z.ZodType>(set: S, example: string) =>
  z.strictObject({
    set: set.optional().describe(`Headers to send, in place of all that have the same name, for example ${example}.`),
    remove: z
      .array(headerName().describe('The name of a header, in any case.'))
      .max(LIMITS.headerChangesMax)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Names of headers that are not passed on, for example [cookie].'),
  });

const forward = withRules(
  z.strictObject({
    url: withRules(text({ min: 1, max: LIMITS.forwardUrlLengthMax }), upstreamUrlRules)
      .optional()
      .describe(
        "The upstream's URL, http or https, for example https://api.example.com/orders. The caller's query string is appended as received. " +
          'If the slug has parameters, ${path.NAME} after the host is replaced by the value of a parameter as it was sent, for example https://api.example.com/orders/${path.id}, ' +
          'and $${ is a literal ${.',
      ),
    serviceRef: serviceRef
      .optional()
      .describe('The Service in the same namespace that is the upstream. Only one of url and serviceRef can be set.'),
    timeout: withRules(text({ max: 24 }), durationRules(FORWARD_TIMEOUT_MS_MIN, LIMITS.forwardTimeoutMsMax))
      .default(`${LIMITS.forwardTimeoutMsDefault / 1_000}s`)
      .describe(
        `Maximum time to wait for the first byte of the upstream's response, and between two parts of it, for example 2s, 500ms or 1m30s. Allowed range: ${FORWARD_TIMEOUT_MS_MIN}ms to ${LIMITS.forwardTimeoutMsMax / 60_000}m.`,
      ),
    tls: tls.optional().describe('How to verify the certificate of an https upstream.'),
    host: z
      .enum(UPSTREAM_HOSTS)
      .optional()
      .describe(
        "The Host header that the upstream gets. Upstream: that of its URL. Preserve: the caller's. If it is omitted, Upstream.",
      ),
    requestHeaders: headerChanges(
      withRules(headers(requestHeader), [fewSecrets]),
      '[{name: authorization, value: Bearer test}]',
    )
      .optional()
      .describe(
        "Changes to the caller's headers, after the gateway has added its own. The log has the caller's headers.",
      ),
    responseHeaders: headerChanges(headers(responseHeader), '[{name: x-mock, value: "1"}]')
      .optional()
      .describe("Changes to the headers of the upstream's response. The log has the headers that the caller got."),
    rewrite: uniqueItems(
      z.array(z.enum(UPSTREAM_REWRITES).describe('What is mapped.')).min(1).max(UPSTREAM_REWRITES.length),
    )
      .optional()
      .describe(
        "Maps the upstream's paths in its response back to the project's, for example [Location, CookiePath]. Location: the headers location and content-location, " +
          'if they are within the upstream. CookiePath: the Path of set-cookie.',
      ),
    fallback: fallback
      .optional()
      .describe(
        'Returns spec.json if the upstream fails before its response begins. Requires spec.json. A response that has begun is passed on, even if its body is cut off.',
      ),
  }),
  [
    {
      cel: 'has(self.url) != has(self.serviceRef)',
      holds: (self) => (self.url === undefined) !== (self.serviceRef === undefined),
      message: 'requires either url or serviceRef, but not both',
    },
    {
      cel: "!has(self.tls) || !has(self.url) || self.url.startsWith('https:')",
      holds: ({ tls: own, url }) => own === undefined || url === undefined || url.startsWith('https:'),
      message: 'must begin with https:// if tls is set: change the URL, or remove tls',
      field: 'url',
    },
    {
      cel: "!has(self.tls) || !has(self.serviceRef) || self.serviceRef.scheme == 'https'",
      holds: ({ tls: own, serviceRef: service }) =>
        own === undefined || service === undefined || service.scheme === 'https',
      message: 'must have the scheme https if tls is set: set scheme, or remove tls',
      field: 'serviceRef',
    },
  ],
);

const spec = withRules(
  z.strictObject({
    projectRef: reference('a Project', 'shop').describe("The endpoint's project. It cannot be changed."),
    displayName: text({ min: 1, max: LIMITS.displayNameLengthMax }).describe('Display name, for example Create order.'),
    slug: withRules(text({ min: 1, max: LIMITS.slugLengthMax }), slugRules).describe(
      "Path of the endpoint below the project's URL, for example /v1/orders. A request matches if its path is the same, byte for byte. The query is ignored. " +
        'A segment in braces is a parameter: /v1/orders/{id} matches any value of one segment, {id}:cancel and {name}.json match values with this suffix, ' +
        'and {name...} as the last segment matches the rest of the path, also if it is empty. If several slugs match a request, the first segment that differs decides: ' +
        'literal text takes precedence over {name}.json, this over {name}, and {name} over {name...}.',
    ),
    method: z.enum(METHODS).describe('HTTP method that the endpoint responds to. GET also responds to HEAD.'),
    action: z
      .enum(ACTIONS)
      .describe(
        'What happens to a request. JSON: the response is spec.json. Forward: the request is sent to spec.forward.',
      ),
    responses: responses
      .optional()
      .describe(
        'Mock responses for requests that meet conditions. They are tried in order: the first one whose conditions are all met is returned. If there is none, the action decides.',
      ),
    json: json
      .optional()
      .describe(
        'The mock response. Required if action is JSON, or if forward.fallback is set. It can also be set otherwise.',
      ),
    forward: forward
      .optional()
      .describe('The upstream. Required if action is Forward. It can also be set if action is JSON.'),
    credential: credential
      .optional()
      .describe(
        'Lets the endpoint accept requests without an API key if the sender signs them, as webhook providers do. The Account must have spec.signatures: Allowed. ' +
          'The API key always works. If a request has an x-api-key header, only the key counts.',
      ),
  }),
  [
    {
      cel: "self.action != 'JSON' || has(self.json)",
      holds: (self) => self.action !== 'JSON' || self.json !== undefined,
      message: 'is required if action is JSON: specify the mock, at least its body',
      field: 'json',
      required: true,
    },
    {
      cel: "self.action != 'Forward' || has(self.forward)",
      holds: (self) => self.action !== 'Forward' || self.forward !== undefined,
      message: 'is required if action is Forward: specify the upstream as url or serviceRef',
      field: 'forward',
      required: true,
    },
    {
      cel: 'has(self.json) || !has(self.forward) || !has(self.forward.fallback)',
      holds: ({ json: mock, forward: upstream }) => mock !== undefined || upstream?.fallback === undefined,
      message: 'is required if forward.fallback is set: specify the mock that responds if the upstream fails',
      field: 'json',
      required: true,
    },
  ],
).describe("The desired state: the endpoint's method, path and response.");

const status = z
  .strictObject({
    ...commonStatus({
      Accepted:
        'the spec is valid, no older Endpoint in the project has the same method and slug, and the Account allows the credential.',
      ResolvedRefs:
        'the Project exists and its own references are valid, the Service in forward.serviceRef exists and has the port, the ConfigMap in forward.tls.caRef has certificates, and the Secrets in credential and forward.requestHeaders can be used.',
      ...SERVED_MEANINGS,
    }),
    url: text({ max: 4_096 })
      .optional()
      .describe(
        "The endpoint's URL, for example https://mocks.example.com/k3v9x2m7q4hd8w1n/v1/orders. Requests require the x-api-key header, unless spec.credential is set.",
      ),
    signingSecrets: usedSecrets('A signing secret.', LIMITS.signingSecretsMax).describe(
      'The signing secrets of credential that can be used. While Programmed is True, no gateway accepts any other.',
    ),
    upstreamSecrets: usedSecrets('A value of a header.', LIMITS.upstreamSecretsMax).describe(
      'The Secrets in forward.requestHeaders that can be used. While Programmed is True, no gateway sends the value of any other.',
    ),
  })
  .describe('The observed state, written by the operator.');

export type EndpointSpec = z.output<typeof spec>;
export type EndpointStatus = z.output<typeof status>;

export const endpoint = defineKind({
  kind: 'Endpoint',
  description: "Responds to one method on one path of a project, with a mock or with an upstream's response.",
  spec,
  status,
  nameRules: [],
  transitions: [
    {
      cel: 'self.projectRef.name == oldSelf.projectRef.name',
      holds: (self, oldSelf) => self.projectRef.name === oldSelf.projectRef.name,
      message: 'cannot be changed, because the log belongs to the project: create another Endpoint',
      field: 'projectRef',
    },
  ],
  printerColumns: [
    { name: 'URL', type: 'string', jsonPath: '.status.url' },
    { name: 'Method', type: 'string', jsonPath: '.spec.method' },
    ...READY_COLUMNS,
    AGE_COLUMN,
    MESSAGE_COLUMN,
    { name: 'Project', type: 'string', jsonPath: '.spec.projectRef.name', priority: 1 },
    { name: 'Action', type: 'string', jsonPath: '.spec.action', priority: 1 },
    { name: 'Slug', type: 'string', jsonPath: '.spec.slug', priority: 1 },
  ],
  selectableFields: ['.spec.projectRef.name'],
});
