import { LIMITS, PLANS, SIGNATURES } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind, MESSAGE_COLUMN, READY_COLUMNS } from '../definition.ts';
import {
  commonStatus,
  identityStatus,
  integer,
  NAME_LENGTH_MAX,
  objectName,
  text,
  timestamp,
  SERVED_MEANINGS,
} from '../fields.ts';
import { matches, withRules } from '../rules.ts';

/** Leaves room for the name of the account's Secret, which is `<name>-api-key`. */
const ACCOUNT_NAME_LENGTH_MAX = NAME_LENGTH_MAX - '-api-key'.length;

const spec = z
  .strictObject({
    plan: z
      .enum(PLANS)
      .default('Free')
      .describe(
        "The account's plan. It determines the default of monthlyQuota and the maximum of requestsPerSecond. Only Pro allows Shares.",
      ),
    monthlyQuota: integer(0, 1_000_000_000_000)
      .optional()
      .describe(
        'Maximum number of requests that are accepted in a calendar month (UTC), for example 500000. Further requests are rejected with 429. With 0, all requests are rejected. ' +
          "Default: the plan's quota in the operator's settings.",
      ),
    requestsPerSecond: integer(1, LIMITS.requestsPerSecondMax)
      .optional()
      .describe(
        'Maximum number of requests per second that each gateway accepts, for example 50. Further requests are rejected with 429. ' +
          "It can only lower the plan's maximum in the operator's settings, which is the default: see status.requestsPerSecond.",
      ),
    uriPrefix: withRules(text({ min: LIMITS.projectUriPrefixLengthMin, max: LIMITS.projectUriPrefixLengthMax }), [
      matches(
        '[a-z0-9][a-z0-9-]*-',
        'must contain only lowercase letters, digits and -, must begin with a letter or digit, and must end with -',
      ),
    ])
      .optional()
      .describe(
        'Reserves the URIs that begin with this prefix, for example team-a-. It must end with a hyphen. Projects of other Accounts cannot set spec.uri to such a URI, unless they had it before. ' +
          'It can only be set when the Account is created, and cannot be changed. It can be removed.',
      ),
    apiKey: z
      .strictObject({
        secretName: objectName('a Secret').describe(
          'Name of a Secret in the same namespace, for example team-a-key. The Secret contains the key under "api-key": 32 to 512 visible ASCII characters.',
        ),
      })
      .optional()
      .describe('Your own API key. Default: the operator generates a key and stores it in the Secret NAME-api-key.'),
    signatures: z
      .enum(SIGNATURES)
      .optional()
      .describe(
        'Whether Endpoints with spec.credential may accept signed requests without the API key, for example Allowed. If it is omitted, such Endpoints are not accepted.',
      ),
  })
  .describe("The desired state: the account's plan, limits and API key.");

const status = z
  .strictObject({
    ...commonStatus({
      Accepted: 'the spec is valid, and no other Account has the same API key.',
      ResolvedRefs: 'the Secret exists and contains an API key.',
      ...SERVED_MEANINGS,
      QuotaAvailable: "no requests are rejected because of this month's quota (present only with a quota).",
      QuotaMismatch:
        'the log contains more requests than were granted, or two requests that were granted as one request (present only while True).',
    }),
    ...identityStatus,
    apiKey: z
      .strictObject({
        secretName: text({ max: NAME_LENGTH_MAX })
          .optional()
          .describe('Name of the Secret that holds the API key under "api-key", for example default-api-key.'),
        fingerprint: text({ max: 64 })
          .optional()
          .describe('A short text that identifies the key without revealing it. The log shows the same text.'),
        issuedAt: timestamp().optional().describe('When this key became active, for example 2026-11-21T09:00:00Z.'),
        regenerations: z
          .array(timestamp().describe('When the key was regenerated, for example 2026-11-21T09:00:00Z.'))
          .max(64)
          .optional()
          .meta({ 'x-kubernetes-list-type': 'atomic' })
          .describe("The key's regenerations within the last hour. Six are allowed."),
        regenerating: z
          .strictObject({
            name: text({ max: NAME_LENGTH_MAX }).describe("The KeyRegeneration's metadata.name."),
            uid: text({ max: 64 }).describe("The KeyRegeneration's metadata.uid."),
          })
          .optional()
          .describe('The KeyRegeneration that is in progress.'),
        windowResetsAt: timestamp()
          .optional()
          .describe(
            'When the oldest regeneration in regenerations no longer counts toward the limit, for example 2026-11-21T10:00:00Z.',
          ),
      })
      .optional()
      .describe('Facts about the active API key. They contain neither the key nor its digest.'),
    requestsPerSecond: integer(1, LIMITS.requestsPerSecondMax)
      .optional()
      .describe('Maximum number of requests per second that each gateway accepts. Absent if there is no limit.'),
    projects: integer(0, Number.MAX_SAFE_INTEGER).optional().describe('Number of Projects that refer to this Account.'),
    usage: z
      .strictObject({
        period: text({ max: 7 }).optional().describe('The calendar month (UTC), for example 2026-11.'),
        accepted: integer(0, Number.MAX_SAFE_INTEGER)
          .optional()
          .describe('Number of requests accepted in this month. Present only with a quota.'),
        quota: integer(0, Number.MAX_SAFE_INTEGER)
          .optional()
          .describe('Number of requests that may be accepted in this month.'),
      })
      .optional()
      .describe('Usage of the monthly quota.'),
  })
  .describe('The observed state, written by the operator.');

export type AccountSpec = z.output<typeof spec>;
export type AccountStatus = z.output<typeof status>;

export const account = defineKind({
  kind: 'Account',
  description: 'Owns one API key, a plan and a monthly quota. Projects in the same namespace refer to it by name.',
  spec,
  status,
  nameRules: [
    {
      cel: `size(self.metadata.name) <= ${ACCOUNT_NAME_LENGTH_MAX}`,
      holds: (name) => name.length <= ACCOUNT_NAME_LENGTH_MAX,
      message: `must be no more than ${ACCOUNT_NAME_LENGTH_MAX} characters, because its Secret is named NAME-api-key`,
    },
  ],
  transitions: [
    {
      cel: '!has(self.uriPrefix) || (has(oldSelf.uriPrefix) && self.uriPrefix == oldSelf.uriPrefix)',
      holds: (self, oldSelf) => self.uriPrefix === undefined || self.uriPrefix === oldSelf.uriPrefix,
      message:
        'cannot be added or changed, because other teams may already use URIs that begin with it: create another Account',
      field: 'uriPrefix',
    },
  ],
  printerColumns: [
    { name: 'Plan', type: 'string', jsonPath: '.spec.plan' },
    ...READY_COLUMNS,
    { name: 'Accepted', type: 'integer', jsonPath: '.status.usage.accepted' },
    { name: 'Quota', type: 'integer', jsonPath: '.status.usage.quota' },
    AGE_COLUMN,
    MESSAGE_COLUMN,
    { name: 'Period', type: 'string', jsonPath: '.status.usage.period', priority: 1 },
    { name: 'Projects', type: 'integer', jsonPath: '.status.projects', priority: 1 },
    { name: 'Secret', type: 'string', jsonPath: '.status.apiKey.secretName', priority: 1 },
  ],
  selectableFields: [],
});
