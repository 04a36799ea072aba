import { DELAY_TYPES, LIMITS } from '@standin/contract';
import { z } from 'zod';
import { durationRules, notShorterThan } from '../duration.ts';
import { text } from '../fields.ts';
import { withRules, type Rule } from '../rules.ts';

const duration = () => withRules(text({ max: 24 }), durationRules(1, LIMITS.responseDelayMsMax));

/** The field for each type. */
const FIELDS = { Fixed: 'fixed', Uniform: 'uniform', LogNormal: 'logNormal' } as const;

type Delay = { readonly type: (typeof DELAY_TYPES)[number] } & {
  readonly [field in (typeof FIELDS)[keyof typeof FIELDS]]?: unknown;
};

const fieldRule = (type: (typeof DELAY_TYPES)[number]): Rule<Delay> => {
  const field = FIELDS[type];
  return {
    cel: `has(self.${field}) == (self.type == '${type}')`,
    holds: (self) => (self[field] !== undefined) === (self.type === type),
    message: `must be set if type is ${type}, and omitted otherwise`,
    field,
  };
};

export const delay = withRules(
  z.strictObject({
    type: z
      .enum(DELAY_TYPES)
      .describe(
        'How the delay is chosen. Fixed: always the same. Uniform: between two limits. LogNormal: mostly short and sometimes long, as with real servers.',
      ),
    fixed: duration().optional().describe('The delay if type is Fixed, for example 200ms.'),
    uniform: withRules(
      z.strictObject({
        min: duration().describe('The shortest delay, for example 10ms.'),
        max: duration().describe('The longest delay, for example 50ms.'),
      }),
      [notShorterThan('max', 'min')],
    )
      .optional()
      .describe('The limits of the delay if type is Uniform. All delays between them are equally likely.'),
    logNormal: withRules(
      z.strictObject({
        median: duration().describe('Half of the delays are shorter, for example 120ms.'),
        p99: duration().describe('One in 100 delays is longer, for example 900ms.'),
      }),
      [notShorterThan('p99', 'median')],
    )
      .optional()
      .describe('The distribution of the delay if type is LogNormal. No delay is longer than 5m.'),
  }),
  DELAY_TYPES.map(fieldRule),
)
  .optional()
  .describe(
    'How long the response is held back after the request is recorded, for example {type: Fixed, fixed: 200ms}. Durations are between 1ms and 5m.',
  );
