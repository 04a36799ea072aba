import { REGENERATION_PHASES } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind } from '../definition.ts';
import { commonStatus, NAME_LENGTH_MAX, reference, text, timestamp } from '../fields.ts';
import { immutable } from '../rules.ts';

const GATEWAYS_NAMED_MAX = 32;

const spec = z
  .strictObject({ accountRef: reference('an Account').describe('The account that gets a new API key.') })
  .describe('The account whose API key is replaced.');

const status = z
  .strictObject({
    ...commonStatus,
    phase: z.enum(REGENERATION_PHASES).optional().describe('Result. Completed: no gateway accepts the old key.'),
    acknowledged: text({ max: 32 }).optional().describe('Gateways that have replaced the key, of all gateways: 2/3.'),
    waitingFor: z
      .array(text({ max: NAME_LENGTH_MAX }))
      .max(GATEWAYS_NAMED_MAX)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Gateways that have not replaced the key yet, at most 32 of them.'),
    completedAt: timestamp().optional().describe('When every gateway had begun to refuse the old key.'),
    refusedAt: timestamp().optional().describe('When the regeneration was refused. The key is unchanged.'),
    windowResetsAt: timestamp()
      .optional()
      .describe(
        'When the next regeneration is possible, if this one was refused because there were too many within an hour.',
      ),
  })
  .describe('Written by the operator.');

export type KeyRegenerationSpec = z.output<typeof spec>;
export type KeyRegenerationStatus = z.output<typeof status>;

export const keyRegeneration = defineKind({
  kind: 'KeyRegeneration',
  description:
    "Replaces an Account's generated API key. The old key stops working everywhere at once. Runs once, and is removed a day after its end.",
  spec,
  status,
  conditions: ['Accepted', 'Complete'],
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
    {
      name: 'Message',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Complete")].message',
      priority: 1,
    },
  ],
  selectableFields: ['.spec.accountRef.name'],
});
