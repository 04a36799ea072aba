import { REGENERATION_PHASES } from '@standin/contract';
import { z } from 'zod';
import {
  OPERATION_CONDITIONS,
  OPERATION_MEANINGS,
  OPERATION_MESSAGE_COLUMN,
  ttlSecondsAfterFinished,
} from '../operations.ts';
import { AGE_COLUMN, defineKind } from '../definition.ts';
import { commonStatus, NAME_LENGTH_MAX, reference, text, timestamp } from '../fields.ts';
import { immutable } from '../rules.ts';

const GATEWAYS_NAMED_MAX = 32;

const spec = z
  .strictObject({
    accountRef: reference('an Account', 'default').describe('The account that gets a new API key.'),
    ttlSecondsAfterFinished: ttlSecondsAfterFinished(),
  })
  .describe('The desired state: the account whose API key is replaced. This account cannot be changed.');

const status = z
  .strictObject({
    ...commonStatus({
      Accepted: 'the Account exists, and its key may be regenerated.',
      ...OPERATION_MEANINGS,
    }),
    phase: z
      .enum(REGENERATION_PHASES)
      .optional()
      .describe(
        'The progress of the regeneration. Completed: no gateway accepts the old key. Refused: the key is unchanged.',
      ),
    acknowledged: text({ max: 32 })
      .optional()
      .describe('How many gateways have replaced the key, for example 2/3: two of three.'),
    waitingFor: z
      .array(text({ max: NAME_LENGTH_MAX }).describe('Name of a gateway, for example standin-gateway-0.'))
      .max(GATEWAYS_NAMED_MAX)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Up to 32 of the gateways that have not replaced the key yet.'),
    completedAt: timestamp()
      .optional()
      .describe('When the last gateway began to reject the old key, for example 2026-11-21T09:00:00Z.'),
    refusedAt: timestamp().optional().describe('When the regeneration was refused, for example 2026-11-21T09:00:00Z.'),
    windowResetsAt: timestamp()
      .optional()
      .describe(
        'When the next regeneration is possible, for example 2026-11-21T10:00:00Z. Present if this regeneration was refused because the key had already been regenerated six times within an hour.',
      ),
  })
  .describe('The observed state, written by the operator.');

export type KeyRegenerationSpec = z.output<typeof spec>;
export type KeyRegenerationStatus = z.output<typeof status>;

export const keyRegeneration = defineKind({
  kind: 'KeyRegeneration',
  description:
    "Replaces an Account's generated API key. The old key stops working on all gateways. Runs once, and is by default deleted a day after it ends.",
  spec,
  status,
  conditions: OPERATION_CONDITIONS,
  nameRules: [],
  transitions: immutable<KeyRegenerationSpec>(
    ['accountRef'],
    new Set(),
    'cannot be changed, because the key may have been replaced: create another KeyRegeneration',
  ),
  printerColumns: [
    { name: 'Account', type: 'string', jsonPath: '.spec.accountRef.name' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Gateways', type: 'string', jsonPath: '.status.acknowledged' },
    { name: 'Completed', type: 'date', jsonPath: '.status.completedAt' },
    AGE_COLUMN,
    OPERATION_MESSAGE_COLUMN,
  ],
  selectableFields: ['.spec.accountRef.name'],
});
