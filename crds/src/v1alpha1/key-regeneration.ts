import { REGENERATION_PHASES } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind } from '../definition.ts';
import { commonStatus, NAME_LENGTH_MAX, reference, text, timestamp } from '../fields.ts';
import { immutable } from '../rules.ts';

const GATEWAYS_NAMED_MAX = 32;

const spec = z
  .strictObject({ accountRef: reference('an Account').describe('The account that gets a new API key.') })
  .describe('Whose API key is replaced.');

const status = z
  .strictObject({
    ...commonStatus,
    phase: z.enum(REGENERATION_PHASES).optional().describe('Result. Completed: no gateway accepts the old key.'),
    acknowledged: text({ max: 32 }).optional().describe('How many gateways have swapped the keys, of how many: 2/3.'),
    waitingFor: z
      .array(text({ max: NAME_LENGTH_MAX }))
      .max(GATEWAYS_NAMED_MAX)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Gateways that have not, at most 32 of them.'),
    completedAt: timestamp().optional().describe('Since when the old key is refused everywhere.'),
    refusedAt: timestamp().optional().describe('When it was refused; nothing was changed.'),
    windowResetsAt: timestamp()
      .optional()
      .describe('Refused, because there were too many within an hour: when the next one is possible.'),
  })
  .describe('Written by the operator.');

export type KeyRegenerationSpec = z.output<typeof spec>;
export type KeyRegenerationStatus = z.output<typeof status>;

export const keyRegeneration = defineKind({
  kind: 'KeyRegeneration',
  description:
    "Replaces an Account's generated API key: the old one stops working everywhere at once. It happens once; a day after its end it is removed.",
  spec,
  status,
  conditions: ['Accepted', 'Complete'],
  nameRules: [],
  transitions: immutable<KeyRegenerationSpec>(
    ['accountRef'],
    new Set(),
    'cannot be changed, as the key may be replaced already: create another KeyRegeneration',
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
