import { LIMITS } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind, MESSAGE_COLUMN, READY_COLUMNS } from '../definition.ts';
import { commonStatus, integer, reference, text, timestamp } from '../fields.ts';
import { matches, withRules } from '../rules.ts';

const spec = z
  .strictObject({
    displayName: text({ min: 1, max: LIMITS.displayNameLengthMax })
      .optional()
      .describe('Name to show to users. Default: the name of the object.'),
    accountRef: reference('an Account').describe('The account whose API key callers use. Cannot be changed.'),
    uri: withRules(text({ min: LIMITS.projectUriLengthMin, max: LIMITS.projectUriLengthMax }), [
      matches(
        '[a-z0-9]([a-z0-9-]*[a-z0-9])?',
        'must contain only lowercase letters, digits and -, and must begin and end with a letter or digit',
      ),
    ])
      .optional()
      .describe(
        "First path segment of the URLs of all the project's endpoints; pin it to keep URLs when the project moves to another cluster. " +
          "Cannot be changed once set. Default: derived from the object's uid.",
      ),
    retentionDays: integer(1, LIMITS.retentionDaysMax)
      .default(LIMITS.retentionDaysDefault)
      .describe('Retention of log entries in days. The installation may allow less: see status.retentionDays.'),
  })
  .describe('A set of endpoints that share an account and a log.');

const status = z
  .strictObject({
    ...commonStatus,
    uri: text({ max: LIMITS.projectUriLengthMax }).optional().describe('The active URI.'),
    url: text({ max: LIMITS.forwardUrlLengthMax }).optional().describe('The beginning of the URLs of all endpoints.'),
    retentionDays: integer(1, LIMITS.retentionDaysMax)
      .optional()
      .describe('The active retention of log entries in days.'),
    endpoints: z
      .strictObject({
        total: integer(0, Number.MAX_SAFE_INTEGER).optional(),
        ready: integer(0, Number.MAX_SAFE_INTEGER).optional(),
      })
      .optional()
      .describe('The number of endpoints, and of ready endpoints.'),
    lastRequestAt: timestamp()
      .optional()
      .describe(
        'When the project received its last request, to within ten minutes. Absent if it has not received any.',
      ),
  })
  .describe('Written by the operator.');

export type ProjectSpec = z.output<typeof spec>;
export type ProjectStatus = z.output<typeof status>;

export const project = defineKind({
  kind: 'Project',
  description: 'Groups endpoints under one unguessable first path segment, its URI.',
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
      message: 'cannot be changed or removed once it is set, because callers have its URLs: create another Project',
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
