import { REQUEST_METHODS } from '@standin/contract';
import { z } from 'zod';

const whole = () => z.int().nonnegative();

const reference = {
  id: z.string(),
  receivedAt: z.string().meta({ format: 'date-time' }),
  method: z.enum(REQUEST_METHODS),
  path: z.string().describe('Without the project URI. One character per byte (ISO-8859-1). Cut off after 256 bytes.'),
  status: whole().describe('0: no response was recorded.'),
} as const;

const found = {
  count: whole().describe('Number of requests that match.'),
  requests: z.array(z.object(reference)).describe('The first of them, at most 20, oldest first.'),
} as const;

const terms = (what: string) =>
  z.array(z.object({ text: z.string(), from: whole(), to: whole() })).describe(`${what} \`from\` and \`to\` are in q.`);

export const assertionSchema = z
  .object({
    expectations: z.array(z.object({ q: z.string(), ...found })).describe('In the order of the expectations.'),
  })
  .meta({ id: 'Assertion' });

export const assertionFailureSchema = z
  .object({
    kind: z
      .enum(['count', 'order', 'else'])
      .describe(
        'count: the number of requests is wrong. order: the first matches are not in the order of the expectations. else: other requests were received.',
      ),
    expectation: whole().optional().describe('Position of the expectation in the list, from 0. Absent with `else`.'),
    q: z.string().optional(),
    wanted: z.string().describe('What was expected, such as `at least 1`.'),
    ...found,
    nearest: z
      .array(
        z.object({
          ...reference,
          met: terms('Conditions of the search that the request meets.'),
          unmet: terms('Conditions that it does not meet.'),
          unknown: terms('Conditions that depend on a body after its first 8 KiB.'),
        }),
      )
      .describe('Among the newest 50 requests, the three that fail the fewest conditions. For at most five failures.'),
  })
  .meta({ id: 'AssertionFailure' });
export type ApiAssertionFailure = z.output<typeof assertionFailureSchema>;
