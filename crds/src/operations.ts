import { LIMITS, type ConditionType } from '@standin/contract';
import type { PrinterColumn } from './definition.ts';
import { integer } from './fields.ts';

/** The parts that are common to all one-time operations: objects that run once and end, such as a Replay or a Purge. */

/** The conditions that describe the progress of an operation. An operation has exactly one of these conditions. */
const PROGRESS: ReadonlySet<string> = new Set<ConditionType>(['Complete', 'Met', 'Failed', 'Reconciling']);

/** The initial conditions of an operation. */
export const OPERATION_CONDITIONS: readonly ConditionType[] = ['Accepted', 'Reconciling'];

/** The meanings of the conditions that only operations have, for `commonStatus`. Each is present only while True. */
export const OPERATION_MEANINGS = {
  Reconciling: 'the operation has not ended.',
  Complete: 'the operation has succeeded.',
  Failed: 'the operation has failed, was refused, or was cancelled.',
  Stalled: 'the operation has failed or was refused. To try again, create a new object.',
} as const;

/**
 * Returns the schema of the field `ttlSecondsAfterFinished`. It has no default, because the API server would add the default to
 * every object, and an earlier version of the operator would then reject the unknown field.
 */
export const ttlSecondsAfterFinished = () =>
  integer(0, 2 ** 31 - 1)
    .optional()
    .describe(
      `Number of seconds for which the object is kept after it has ended. Default: ${LIMITS.operationTtlSecondsDefault}, which is one day. ` +
        'Objects that Argo CD, Flux or Helm manages are not deleted. This field can be changed.',
    );

/** Shows the message of the first condition besides Accepted, which describes the progress. */
export const OPERATION_MESSAGE_COLUMN: PrinterColumn = {
  name: 'Message',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type!="Accepted")].message',
  priority: 1,
};

export const progressIn = <C extends { readonly type: string }>(conditions: readonly C[] = []): C | undefined =>
  conditions.find(({ type }) => PROGRESS.has(type));
