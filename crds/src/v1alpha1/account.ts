import { PLANS } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind, MESSAGE_COLUMN, READY_COLUMNS } from '../definition.ts';
import { commonStatus, integer, NAME_LENGTH_MAX, objectName, text, timestamp } from '../fields.ts';

/** The account's Secret is named `<name>-api-key`. */
const ACCOUNT_NAME_LENGTH_MAX = NAME_LENGTH_MAX - '-api-key'.length;

const spec = z
  .strictObject({
    plan: z.enum(PLANS).default('Free').describe('Decides the default quota, and whether log entries may be shared.'),
    monthlyQuota: integer(0, 1_000_000_000_000)
      .optional()
      .describe(
        'Requests that are accepted per calendar month (UTC). Default: the quota that the operator has for the plan.',
      ),
    apiKey: z
      .strictObject({
        secretName: objectName('a Secret').describe(
          'Secret with the key under "api-key", 32 to 512 visible ASCII characters, for example from External Secrets or Sealed Secrets.',
        ),
      })
      .optional()
      .describe('Your own API key. Default: the operator generates one into the Secret NAME-api-key.'),
  })
  .describe('The plan and quota of the account, set by the platform team.');

const status = z
  .strictObject({
    ...commonStatus,
    apiKey: z
      .strictObject({
        secretName: text({ max: NAME_LENGTH_MAX })
          .optional()
          .describe('Secret that holds the API key under "api-key".'),
        fingerprint: text({ max: 64 }).optional().describe('Identifies the key without revealing it.'),
        issuedAt: timestamp().optional().describe('When this key became active.'),
        regenerations: z
          .array(timestamp())
          .max(64)
          .optional()
          .meta({ 'x-kubernetes-list-type': 'atomic' })
          .describe('Regenerations of the key within the last hour.'),
        regenerating: z
          .strictObject({ name: text({ max: NAME_LENGTH_MAX }), uid: text({ max: 64 }) })
          .optional()
          .describe('The KeyRegeneration in progress.'),
        windowResetsAt: timestamp().optional().describe('When the oldest of these regenerations stops counting.'),
      })
      .optional()
      .describe('The active API key. Never contains the key or its digest.'),
    projects: integer(0, Number.MAX_SAFE_INTEGER).optional().describe('Number of Projects that refer to this Account.'),
    usage: z
      .strictObject({
        period: text({ max: 7 }).optional().describe('Calendar month, UTC: 2026-11.'),
        accepted: integer(0, Number.MAX_SAFE_INTEGER)
          .optional()
          .describe('Requests accepted in this period, if the account has a quota.'),
        quota: integer(0, Number.MAX_SAFE_INTEGER).optional().describe('Requests that may be accepted in this period.'),
      })
      .optional()
      .describe('Usage of the monthly quota.'),
  })
  .describe('Written by the operator.');

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
  transitions: [],
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
