import { EXPECTATION_PHASES, LIMITS, type ConditionType } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind } from '../definition.ts';
import { durationRules } from '../duration.ts';
import { commonStatus, instant, integer, logId, reference, text, timestamp } from '../fields.ts';
import { OPERATION_CONDITIONS, OPERATION_MESSAGE_COLUMN } from '../operations.ts';
import { immutable, withRules } from '../rules.ts';

const filter = z.strictObject({
  search: text({ min: 1, max: LIMITS.expectationSearchLengthMax }).describe(
    'A search, in the same syntax as in the log, for example method:POST path:/v1/refunds body:"pr-1234".',
  ),
});

const count = withRules(
  z.strictObject({
    min: integer(0, LIMITS.expectationCountMax)
      .optional()
      .describe('The lowest number of matching requests that is right, for example 1. Default: 0.'),
    max: integer(0, LIMITS.expectationCountMax)
      .optional()
      .describe(
        'The highest number of matching requests that is right, for example 1. 0 means that no request may match. Default: no maximum.',
      ),
  }),
  [
    {
      cel: 'has(self.max) || (has(self.min) && self.min > 0)',
      holds: ({ min = 0, max }) => max !== undefined || min > 0,
      message: 'requires a max, or a min of at least 1',
    },
    {
      cel: '!has(self.min) || !has(self.max) || self.min <= self.max',
      holds: ({ min, max }) => min === undefined || max === undefined || min <= max,
      message: 'must not be less than min',
      field: 'max',
    },
  ],
);

const HOUR_MS = 3_600_000;

const spec = z
  .strictObject({
    projectRef: reference('a Project', 'shop').describe('The project whose requests are counted.'),
    filter: filter
      .optional()
      .describe('Selects captured requests. Default: all requests of the project in the time range.'),
    count: count.describe('How many requests must match.'),
    from: instant()
      .optional()
      .describe(
        'Start of the time range: requests received at this time or later, for example 2026-11-21T09:00:00Z. ' +
          `At most ${LIMITS.expectationLeadMsMax / HOUR_MS} hours before the creation of this object. Default: the second of the creation.`,
      ),
    deadline: withRules(
      text({ max: 32 }),
      durationRules(LIMITS.expectationDeadlineMsMin, LIMITS.expectationDeadlineMsMax),
    ).describe(
      `How long after the creation of this object the time range ends, for example 2m. At most ${LIMITS.expectationDeadlineMsMax / HOUR_MS}h.`,
    ),
  })
  .describe('The desired state: how many requests a project must receive in a time range. It cannot be changed.');

const requestId = (what: string) =>
  logId().describe(`Id of ${what}, for example 0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe.`);

const status = z
  .strictObject({
    ...commonStatus({
      Accepted: 'the spec is valid, and the project exists.',
      Decided: 'the expectation has ended. Met or Failed is also True. This condition becomes True in every case.',
      Reconciling: 'the expectation has not been decided.',
      Met: 'as many requests matched as spec.count requires.',
      Failed:
        'too few or too many requests matched, or it could not be determined how many. The reason is Unmet or Undetermined.',
      Stalled: 'Failed is True. To count again, create a new object.',
    }),
    phase: z
      .enum(EXPECTATION_PHASES)
      .optional()
      .describe(
        'The progress of the expectation. Pending: the project or the log is missing. Open: requests are counted. Met, Unmet: as many ' +
          'requests matched as required, or not. Undetermined: the spec is invalid, or the number could not be determined.',
      ),
    from: timestamp()
      .optional()
      .describe('Start of the time range: requests received at this time or later, for example 2026-11-21T09:00:00Z.'),
    until: timestamp()
      .optional()
      .describe('End of the time range: requests received before this time, for example 2026-11-21T09:02:01Z.'),
    matched: integer(0, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe('Number of matching requests when the expectation was decided, for example 1.'),
    requestIds: z
      .array(requestId('a matching request'))
      .max(LIMITS.expectationRequestIdsMax)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe(`Up to ${LIMITS.expectationRequestIdsMax} of the matching requests.`),
    nearMisses: z
      .array(
        z
          .strictObject({
            requestId: requestId('a request that did not match'),
            failed: z
              .array(
                text({ max: LIMITS.expectationFailedTermLengthMax }).describe(
                  'A condition in spec.filter.search, for example method:POST.',
                ),
              )
              .max(LIMITS.expectationFailedTermsMax)
              .meta({ 'x-kubernetes-list-type': 'atomic' })
              .describe('The conditions of the search that the request did not meet.'),
          })
          .describe('A request that met most of the conditions.'),
      )
      .max(LIMITS.expectationNearMissesMax)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe(
        `If too few requests matched: the ${LIMITS.expectationNearMissesMax} nearest of the project's last requests in the time range.`,
      ),
    decidedAt: timestamp().optional().describe('When the expectation was decided, for example 2026-11-21T09:01:30Z.'),
  })
  .describe('The observed state, written by the operator. It never contains values of captured requests.');

export type ExpectationSpec = z.output<typeof spec>;
export type ExpectationStatus = z.output<typeof status>;

const INITIAL: readonly ConditionType[] = [...OPERATION_CONDITIONS, 'Decided'];

export const expectation = defineKind({
  kind: 'Expectation',
  description:
    'How many requests a project must receive in a time range, for example exactly one, or none. It is decided once, and deleted a day later.',
  spec,
  status,
  conditions: INITIAL,
  nameRules: [],
  transitions: immutable<ExpectationSpec>(
    ['projectRef', 'filter', 'count', 'from', 'deadline'],
    new Set(['filter', 'from']),
    'cannot be changed, because requests may have been counted: create another Expectation',
  ),
  printerColumns: [
    { name: 'Project', type: 'string', jsonPath: '.spec.projectRef.name' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Matched', type: 'integer', jsonPath: '.status.matched' },
    { name: 'Min', type: 'integer', jsonPath: '.spec.count.min' },
    { name: 'Max', type: 'integer', jsonPath: '.spec.count.max' },
    { name: 'Until', type: 'string', jsonPath: '.status.until' },
    AGE_COLUMN,
    OPERATION_MESSAGE_COLUMN,
  ],
  selectableFields: ['.spec.projectRef.name'],
});
