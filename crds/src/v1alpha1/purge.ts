import { LIMITS, PURGE_PHASES } from '@standin/contract';
import { z } from 'zod';
import { OPERATION_CONDITIONS, OPERATION_MEANINGS, OPERATION_MESSAGE_COLUMN } from '../operations.ts';
import { AGE_COLUMN, defineKind } from '../definition.ts';
import { commonStatus, instant, integer, rangeRule, reference, text, timestamp } from '../fields.ts';
import { immutable, withRules } from '../rules.ts';

const filter = withRules(
  z.strictObject({
    search: text({ min: 1, max: LIMITS.purgeSearchLengthMax })
      .optional()
      .describe(
        'A search, in the same syntax as in the log, for example body:"jane@example.com". It stays in this object, where anyone who can read the object can read it.',
      ),
    from: instant()
      .optional()
      .describe('Start of the time range: requests received at this time or later, for example 2026-11-21T09:00:00Z.'),
    to: instant().describe(
      'End of the time range: requests received before this time, for example 2026-11-21T10:00:00Z. Must not be in the future.',
    ),
  }),
  [rangeRule],
);

const spec = withRules(
  z.strictObject({
    projectRef: reference('a Project', 'shop').describe('The project whose requests are deleted.'),
    filter: filter.describe('Selects captured requests by time and search.'),
    requests: z
      .enum(['All'])
      .optional()
      .describe(
        'All: deletes every request that was received before filter.to. Required if filter has neither search nor from, and not allowed otherwise.',
      ),
    reason: text({ min: 1, max: LIMITS.purgeReasonLengthMax }).describe(
      'Why the requests are deleted, for the record, for example: erasure request 4711.',
    ),
  }),
  [
    {
      cel: 'has(self.requests) != (has(self.filter.search) || has(self.filter.from))',
      holds: ({ filter: { search, from }, requests }) =>
        (requests !== undefined) !== (search !== undefined || from !== undefined),
      message: 'requires search or from in filter, or requests: All to delete all requests, but not both',
    },
  ],
).describe('The desired state: the requests to delete. It cannot be changed.');

const status = z
  .strictObject({
    ...commonStatus({
      Accepted: 'the spec is valid, and the project exists.',
      ...OPERATION_MEANINGS,
    }),
    phase: z
      .enum(PURGE_PHASES)
      .optional()
      .describe(
        'The progress of the purge. Pending: the project or the log is missing. Waiting: some matching requests may not be in the log yet. Running: requests are being deleted. Completed: none is left. Refused: nothing was deleted.',
      ),
    before: timestamp()
      .optional()
      .describe(
        'Requests received before this time are deleted, for example 2026-11-21T09:00:01Z. It is filter.to or the end of the second in which this object was created, whichever is earlier.',
      ),
    matched: integer(0, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe('Number of matching requests when the deletion began, for example 12.'),
    waitingFor: z
      .array(
        text({ max: 512 }).describe('What may still hold matching requests, for example gateway standin-gateway-0.'),
      )
      .max(LIMITS.purgeWaitingForMax)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe(`Up to ${LIMITS.purgeWaitingForMax} of the gateways, volumes and replays that the purge waits for.`),
    completedAt: timestamp()
      .optional()
      .describe('When the log had no matching request left, for example 2026-11-21T09:05:00Z.'),
  })
  .describe('The observed state, written by the operator.');

export type PurgeSpec = z.output<typeof spec>;
export type PurgeStatus = z.output<typeof status>;

export const purge = defineKind({
  kind: 'Purge',
  description:
    "Permanently deletes captured requests of a project, from all of ClickHouse's tables and replicas. Runs once. The object is the record, and stays until it is deleted.",
  spec,
  status,
  conditions: OPERATION_CONDITIONS,
  nameRules: [],
  transitions: immutable<PurgeSpec>(
    ['projectRef', 'filter', 'requests', 'reason'],
    new Set(['requests']),
    'cannot be changed, because requests may have been deleted: create another Purge',
  ),
  printerColumns: [
    { name: 'Project', type: 'string', jsonPath: '.spec.projectRef.name' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Matched', type: 'integer', jsonPath: '.status.matched' },
    { name: 'Completed', type: 'date', jsonPath: '.status.completedAt' },
    AGE_COLUMN,
    OPERATION_MESSAGE_COLUMN,
    { name: 'Reason', type: 'string', jsonPath: '.spec.reason', priority: 1 },
  ],
  selectableFields: ['.spec.projectRef.name'],
});
