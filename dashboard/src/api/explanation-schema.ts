import { ACTIONS, METHODS } from '@standin/contract';
import { z } from 'zod';

const explainedEndpoint = z.object({
  namespace: z.string(),
  name: z.string(),
  generation: z.int().nonnegative().optional(),
  method: z.enum(METHODS),
  slug: z.string(),
  action: z.enum(ACTIONS).optional().describe('Absent if it is not valid.'),
});

export const explanationSchema = z
  .object({
    requestId: z.string(),
    captured: z
      .object({
        endpoint: z.string(),
        generation: z.int().nonnegative(),
        response: z.string().describe('Name of the response that was returned. Empty if the action responded.'),
      })
      .describe('What responded to the request when it was captured.'),
    isChanged: z
      .boolean()
      .describe('Whether another endpoint would respond now, or the endpoint has changed since the request.'),
    endpoint: explainedEndpoint
      .optional()
      .describe('The endpoint that would get the request now. Absent: see `rejection`.'),
    rejection: z
      .enum(['endpoint_not_found', 'method_not_allowed', 'endpoint_not_accepted'])
      .optional()
      .describe('Code of the error that the gateway would return now (docs/reference/errors.md).'),
    response: z
      .string()
      .optional()
      .describe('Name of the response that would be returned now. Absent if the action of the endpoint would respond.'),
    mock: z
      .object({
        isTemplate: z.boolean().describe('Whether expressions in the body and in headers are evaluated.'),
        delay: z
          .object({
            type: z.string().describe('Fixed, Uniform or LogNormal.'),
            ms: z.number().nonnegative().describe('The delay for this request, in milliseconds.'),
          })
          .optional()
          .describe('Absent if the response is not delayed.'),
        templateError: z
          .string()
          .optional()
          .describe('Why the template cannot be rendered for this request. The response would be a 500.'),
      })
      .optional()
      .describe('How the mock would be generated. Absent if an upstream would respond.'),
    unmatched: z
      .array(
        z.object({
          name: z.string(),
          unmet: z.array(
            z.object({
              on: z
                .string()
                .describe('Field of `when` that has the condition: pathParams, headers, queryParams, draw or cel.'),
              name: z.string().describe('Empty for a draw and for an expression.'),
              type: z.string().describe('How the value is compared. Draw: a draw. CEL: an expression.'),
              value: z
                .string()
                .optional()
                .describe('The value, the expression, or the expression for the key of a draw.'),
              seen: z
                .array(z.string())
                .describe('The first values that the request has, or the key of its draw, shortened.'),
              seenCount: z.int().nonnegative().describe('Total number of values.'),
              message: z.string().describe('What the condition needs, and what the request has.'),
            }),
          ),
        }),
      )
      .describe(
        'The responses that come before it and are not returned. Those with the fewest unmet conditions first.',
      ),
    otherEndpoints: z
      .array(
        explainedEndpoint.extend({
          reason: z
            .enum(['Method', 'Precedence', 'Path'])
            .describe(
              'Why it would not respond. Method: it matches the path, but has a different method. Precedence: a slug that is more specific matches. Path: its slug is similar, but does not match.',
            ),
        }),
      )
      .describe('Other endpoints that match the path or, if none does, have a similar slug.'),
  })
  .meta({ id: 'Explanation' });
