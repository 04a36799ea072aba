import { LIMITS, PROJECT_METRICS } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind, MESSAGE_COLUMN, READY_COLUMNS } from '../definition.ts';
import { durationRules } from '../duration.ts';
import { commonStatus, identityStatus, integer, reference, text, timestamp, SERVED_MEANINGS } from '../fields.ts';
import { headerNameRules } from '../http-rules.ts';
import { lacks, matches, withRules } from '../rules.ts';

const headerNames = () =>
  z
    .array(
      withRules(text({ min: 1, max: LIMITS.headerNameLengthMax }), headerNameRules).describe('The name of a header.'),
    )
    .max(LIMITS.corsHeadersMax)
    .meta({ 'x-kubernetes-list-type': 'atomic' });

const cors = z.strictObject({
  allowOrigins: z
    .array(
      withRules(text({ min: 1, max: LIMITS.corsOriginLengthMax }), [
        lacks('^http://.*:80$|^https://.*:443$', 'must not have the default port: browsers do not send it'),
        matches(
          '[*]|[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\\[[0-9a-f:.]+\\])(:[0-9]{1,5})?',
          'must be * or an origin in lower case, without a path: https://app.example.com or http://localhost:5173',
        ),
      ]).describe('An origin as browsers send it, or * for every origin.'),
    )
    .min(1)
    .max(LIMITS.corsOriginsMax)
    .meta({ 'x-kubernetes-list-type': 'atomic' })
    .describe('The origins whose pages may call the endpoints, such as https://app.example.com, or only * for all.'),
  allowHeaders: headerNames()
    .default(['*'])
    .describe(
      'The request headers that pages may send, for example [content-type, authorization]. x-api-key is always allowed, and * means all except authorization.',
    ),
  exposeHeaders: headerNames()
    .optional()
    .describe(
      'The response headers that pages may read besides content-type and a few others, for example [location, etag].',
    ),
  maxAge: withRules(text({ max: 24 }), durationRules(1_000, LIMITS.corsMaxAgeMsMax))
    .optional()
    .describe('How long browsers may remember what is allowed, for example 10m. If it is omitted, browsers decide.'),
});

const spec = z
  .strictObject({
    displayName: text({ min: 1, max: LIMITS.displayNameLengthMax })
      .optional()
      .describe('Display name, for example Web shop. Default: metadata.name.'),
    accountRef: reference('an Account', 'default').describe(
      'The account whose API key callers send. It cannot be changed.',
    ),
    uri: withRules(text({ min: LIMITS.projectUriLengthMin, max: LIMITS.projectUriLengthMax }), [
      matches(
        '[a-z0-9]([a-z0-9-]*[a-z0-9])?',
        'must contain only lowercase letters, digits and -, and must begin and end with a letter or digit',
      ),
    ])
      .optional()
      .describe(
        "The first path segment of the URLs of all the project's endpoints, for example k3v9x2m7q4hd8w1n: at least 16 characters. Set it when you create the project, " +
          "to use the same URLs in every cluster. If you set it later, the project's URLs change, unless you set it to the value of status.uri. " +
          'Once set, it cannot be changed or removed. Default: derived from status.id.',
      ),
    retentionDays: integer(1, LIMITS.retentionDaysMax)
      .default(LIMITS.retentionDaysDefault)
      .describe(
        'Number of days for which captured requests are kept, for example 7. The installation or the plan may have a lower maximum: see status.retentionDays.',
      ),
    metrics: z
      .enum(PROJECT_METRICS)
      .optional()
      .describe(
        "Whether gateways count the project's requests in metrics of its own, for example Enabled. Each project adds about 20 series per gateway. If it is omitted, the project has no metrics of its own.",
      ),
    cors: cors
      .optional()
      .describe(
        'Lets pages of other origins call the endpoints with their API key, without cookies. Gateways respond to preflights, which are not captured and count towards no quota. ' +
          "Responses to an origin that is listed, also errors, have access-control-allow-origin, instead of the mock's or the upstream's. If it is omitted, preflights are requests like any other.",
      ),
  })
  .describe("The desired state: the project's account, URI, retention, metrics and CORS.");

const status = z
  .strictObject({
    ...commonStatus({
      Accepted: 'the spec is valid, and no other Project has the same URI.',
      ResolvedRefs: 'the Account exists and is ready.',
      ...SERVED_MEANINGS,
    }),
    ...identityStatus,
    uri: text({ max: LIMITS.projectUriLengthMax })
      .optional()
      .describe('The active URI, the first path segment of all URLs.'),
    url: text({ max: LIMITS.forwardUrlLengthMax })
      .optional()
      .describe('The beginning of the URLs of all endpoints, for example https://mocks.example.com/k3v9x2m7q4hd8w1n.'),
    retentionDays: integer(1, LIMITS.retentionDaysMax)
      .optional()
      .describe('Number of days for which captured requests are currently kept.'),
    endpoints: z
      .strictObject({
        total: integer(0, Number.MAX_SAFE_INTEGER).optional().describe('Number of Endpoints in the project.'),
        ready: integer(0, Number.MAX_SAFE_INTEGER).optional().describe('Number of Endpoints that are Ready.'),
      })
      .optional()
      .describe("Counts of the project's Endpoints."),
    lastRequestAt: timestamp()
      .optional()
      .describe(
        'When the project received its last request, to within ten minutes, for example 2026-11-21T09:00:00Z. Absent if no request is known.',
      ),
  })
  .describe('The observed state, written by the operator.');

export type ProjectSpec = z.output<typeof spec>;
export type ProjectStatus = z.output<typeof status>;

export const project = defineKind({
  kind: 'Project',
  description: 'Groups endpoints under one URI, which is the first path segment of their URLs.',
  spec,
  status,
  nameRules: [],
  transitions: [
    {
      cel: 'self.accountRef.name == oldSelf.accountRef.name',
      holds: (self, oldSelf) => self.accountRef.name === oldSelf.accountRef.name,
      message: 'cannot be changed, because the log belongs to the account: create another Project',
      field: 'accountRef',
    },
    {
      cel: '!has(oldSelf.uri) || (has(self.uri) && self.uri == oldSelf.uri)',
      holds: (self, oldSelf) => oldSelf.uri === undefined || self.uri === oldSelf.uri,
      message: 'cannot be changed or removed once it is set, because callers use its URLs: create another Project',
      field: 'uri',
    },
  ],
  printerColumns: [
    { name: 'URL', type: 'string', jsonPath: '.status.url' },
    { name: 'Account', type: 'string', jsonPath: '.spec.accountRef.name' },
    ...READY_COLUMNS,
    AGE_COLUMN,
    MESSAGE_COLUMN,
    { name: 'Endpoints', type: 'integer', jsonPath: '.status.endpoints.total', priority: 1 },
    { name: 'Serving', type: 'integer', jsonPath: '.status.endpoints.ready', priority: 1 },
    { name: 'Last Request', type: 'date', jsonPath: '.status.lastRequestAt', priority: 1 },
    { name: 'Retention', type: 'integer', jsonPath: '.status.retentionDays', priority: 1 },
  ],
  selectableFields: ['.spec.accountRef.name'],
});
