import { LIMITS, type ConditionType } from '@standin/contract';
import type { PrinterColumn } from './definition.ts';
import { integer } from './fields.ts';

/** What every act has that runs once and ends: a Replay, a KeyRegeneration. */

/** The conditions that describe the progress of an act. An act has exactly one of them. */
const PROGRESS: ReadonlySet<string> = new Set<ConditionType>(['Complete', 'Failed', 'Reconciling']);

/** The initial conditions. */
export const ACT_CONDITIONS: readonly ConditionType[] = ['Accepted', 'Reconciling'];

/** The meanings of the conditions that only acts have, for `commonStatus`. Each of these conditions is present only while True. */
export const ACT_MEANINGS = {
  Reconciling: 'the act has not ended.',
  Complete: 'the act has ended with success.',
  Failed: 'the act has failed, was refused, or was cancelled.',
  Stalled: 'the act has failed or was refused, which only a new object can change.',
} as const;

/** No default in the schema: operators of earlier versions refuse unknown fields. */
export const ttlSecondsAfterFinished = () =>
  integer(0, 2 ** 31 - 1)
    .optional()
    .describe(
      `How long the object is kept after it has ended. Default: ${LIMITS.actTtlSecondsDefault}, a day. ` +
        'An object that Argo CD, Flux or Helm manages is not removed. Can be changed.',
    );

/** The first condition besides Accepted describes the progress. */
export const ACT_MESSAGE_COLUMN: PrinterColumn = {
  name: 'Message',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type!="Accepted")].message',
  priority: 1,
};

/** The progress of an act. Earlier versions wrote `Complete` with any status and reason. */
export const progressIn = <C extends { readonly type: string }>(conditions: readonly C[] = []): C | undefined =>
  conditions.find(({ type }) => PROGRESS.has(type));
