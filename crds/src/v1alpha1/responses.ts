import { LIMITS, PATH_CONDITIONS, VALUE_CONDITIONS } from '@standin/contract';
import { z } from 'zod';
import { integer, text, uniqueNames } from '../fields.ts';
import { headerNameRules, headerValueRules, mockHeaderRules, PARAMETER_NAME } from '../http-rules.ts';
import { matches, withRules, type Rule } from '../rules.ts';
import { delay } from './delay.ts';

/** RFC 9110: responses with these statuses never have a body. */
const BODYLESS_STATUSES: readonly number[] = [204, 205, 304];
const BODYLESS = `self.status in [${BODYLESS_STATUSES.join(', ')}]`;

const header = withRules(
  z.strictObject({
    name: withRules(text({ min: 1, max: LIMITS.headerNameLengthMax }), headerNameRules).describe(
      'Name of the header, for example location. It is sent as written.',
    ),
    value: withRules(text({ max: LIMITS.headerValueLengthMax }), headerValueRules).describe(
      'Value of the header, for example /v1/orders/1001. It is sent as ISO-8859-1.',
    ),
  }),
  mockHeaderRules,
).describe('A response header.');

const template = z
  .enum(['CEL'])
  .optional()
  .describe(
    'The language of the expressions in body and in the values of headers. CEL: ${expression} is replaced by the value of a CEL expression, for example ${request.json.name}, ' +
      'and $${ is a literal ${. In a JSON body, an expression in quotes makes a part of the string, and any other expression makes a JSON value. If it is omitted, body and headers are returned verbatim.',
  );

interface Mock {
  readonly body?: string | undefined;
  readonly status: number;
  readonly headers?: readonly { readonly name: string }[] | undefined;
}

const mockRules: readonly Rule<Mock>[] = [
  {
    cel: `!(${BODYLESS}) || !has(self.body) || self.body == ''`,
    holds: ({ body = '', status }) => !BODYLESS_STATUSES.includes(status) || body === '',
    message: 'must be omitted: a response with status 204, 205 or 304 has no body (RFC 9110)',
    field: 'body',
  },
  {
    cel: `!has(self.body) || size(bytes(self.body)) <= ${LIMITS.mockBodyBytesMax}`,
    holds: ({ body = '' }) => Buffer.byteLength(body) <= LIMITS.mockBodyBytesMax,
    message: `must be no more than ${LIMITS.mockBodyBytesMax} bytes of UTF-8`,
    field: 'body',
  },
  {
    cel: "!has(self.headers) || self.headers.filter(h, h.name.lowerAscii() == 'content-type').size() <= 1",
    holds: ({ headers = [] }) => headers.filter(({ name }) => name.toLowerCase() === 'content-type').length <= 1,
    message: 'must contain content-type at most once',
    field: 'headers',
  },
];

export const json = withRules(
  z.strictObject({
    body: text({ max: LIMITS.mockBodyBytesMax })
      .optional()
      .describe(
        'The response body: a JSON document as text, for example {"id": 1001}, or any text if headers has another content-type. It is returned verbatim: spaces, key order, 1.0 and large integers are preserved. ' +
          'Omit it for a response without a body.',
      ),
    status: integer(200, 599).default(200).describe('HTTP status of the response, for example 201.'),
    headers: z
      .array(header)
      .max(LIMITS.mockHeadersMax)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe(
        'Response headers, in the order in which they are sent. A name can occur several times. If content-type is missing, content-type: application/json is added.',
      ),
    delay,
    template,
  }),
  mockRules,
);

const COMPARED =
  'How the value is compared. Exact: it is equal to value. RegularExpression: the whole value matches the regular expression in value (RE2 syntax).';
const TYPE = `${COMPARED} Present: there is a value. Absent: there is none. Default: Exact.`;

const conditionValue = (more: readonly Rule<string>[] = []) =>
  withRules(text({ max: LIMITS.conditionValueLengthMax }), more);

interface Condition {
  readonly type?: (typeof VALUE_CONDITIONS)[number] | undefined;
  readonly value?: string | undefined;
}

const takesValue = (type: (typeof VALUE_CONDITIONS)[number]): boolean => type !== 'Present' && type !== 'Absent';

const conditionRules: readonly Rule<Condition>[] = [
  {
    cel: "has(self.value) || (has(self.type) && self.type in ['Present', 'Absent'])",
    holds: ({ type = 'Exact', value }) => value !== undefined || !takesValue(type),
    message: 'is required if type is Exact or RegularExpression',
    field: 'value',
    required: true,
  },
  {
    cel: "!has(self.value) || !has(self.type) || !(self.type in ['Present', 'Absent'])",
    holds: ({ type = 'Exact', value }) => value === undefined || takesValue(type),
    message: 'must be omitted if type is Present or Absent',
    field: 'value',
  },
];

const pathParam = z
  .strictObject({
    name: withRules(text({ min: 1, max: LIMITS.parameterNameLengthMax }), [
      matches(PARAMETER_NAME, 'must be the name of a parameter in the slug, without braces'),
    ]).describe('Name of a parameter in the slug, for example id.'),
    type: z.enum(PATH_CONDITIONS).optional().describe(`${COMPARED} Default: Exact.`),
    value: conditionValue().describe('The decoded value, for example 42, or a regular expression, for example [0-9]+.'),
  })
  .describe('A condition on a path parameter.');

const headerCondition = withRules(
  z.strictObject({
    name: withRules(text({ min: 1, max: LIMITS.headerNameLengthMax }), [
      ...headerNameRules,
      {
        cel: "self.lowerAscii() != 'x-api-key'",
        holds: (self) => self.toLowerCase() !== 'x-api-key',
        message: 'must not be x-api-key: conditions cannot depend on the API key',
      },
    ]).describe('Name of a request header, in any case, for example x-plan.'),
    type: z.enum(VALUE_CONDITIONS).optional().describe(TYPE),
    value: conditionValue(headerValueRules)
      .optional()
      .describe(
        'The value, for example gold, or a regular expression, for example gold|silver. If the header occurs several times, one of its values is enough.',
      ),
  }),
  conditionRules,
).describe('A condition on a request header.');

const queryCondition = withRules(
  z.strictObject({
    name: text({ min: 1, max: LIMITS.headerNameLengthMax }).describe(
      'Name of a query parameter, decoded, for example expand. Case-sensitive.',
    ),
    type: z.enum(VALUE_CONDITIONS).optional().describe(TYPE),
    value: conditionValue()
      .optional()
      .describe(
        'The decoded value, for example items, or a regular expression, for example item.*. If the parameter occurs several times, one of its values is enough.',
      ),
  }),
  conditionRules,
).describe('A condition on a query parameter.');

const draw = z
  .strictObject({
    percent: withRules(z.number().min(0).max(100), [
      {
        cel: 'self < 0.0 || self > 100.0 || double(int(self * 10000.0 + 0.5)) / 10000.0 == self',
        holds: (self) => self < 0 || self > 100 || Math.round(self * 10_000) / 10_000 === self,
        message: 'must have at most four decimals',
      },
    ]).describe('The percentage of keys that meet the condition, with at most four decimals, for example 0.5.'),
    seed: text({ min: 1, max: LIMITS.drawSeedLengthMax })
      .optional()
      .describe(
        'Responses with the same seed draw the same number for the same key, for example pr-42. Default: the names of the Endpoint and of the response, such as create-order/declined.',
      ),
    key: text({ min: 1, max: LIMITS.expressionLengthMax })
      .optional()
      .describe(
        `A CEL expression, for example path.id. Requests with the same value draw the same number. If the value is not a string of 1 to ${LIMITS.drawKeyBytesMax} bytes, the condition is not met. Default: each request draws its own number.`,
      ),
  })
  .optional()
  .describe(
    'A condition that a percentage of the requests meets, and always the same ones. Each request draws a number from 0 to 99.9999, which must be less than percent.',
  );

const conditions = <S extends z.ZodType>(condition: S, max: number = LIMITS.conditionsMax) =>
  z.array(condition).min(1).max(max).optional().meta({ 'x-kubernetes-list-type': 'atomic' });

const when = withRules(
  z.strictObject({
    pathParams: conditions(pathParam, LIMITS.patternParametersMax).describe(
      'Conditions on the parameters of the slug.',
    ),
    headers: conditions(headerCondition).describe('Conditions on request headers.'),
    queryParams: conditions(queryCondition).describe('Conditions on query parameters.'),
    draw,
    cel: text({ min: 1, max: LIMITS.expressionLengthMax })
      .optional()
      .describe(
        'An expression in CEL that must be true, for example request.json.total > 100. If it cannot be evaluated for a request, it is not true.',
      ),
  }),
  [
    {
      cel: 'has(self.pathParams) || has(self.headers) || has(self.queryParams) || has(self.draw) || has(self.cel)',
      holds: ({ pathParams, headers, queryParams, draw: drawn, cel }) =>
        (pathParams ?? headers ?? queryParams ?? drawn ?? cel) !== undefined,
      message: 'must have a condition: to match every request, omit when',
    },
  ],
);

interface Body {
  readonly body?: string | undefined;
  readonly bodyBase64?: string | undefined;
  readonly template?: string | undefined;
  readonly status?: number | undefined;
}

/** The status has no default in the schema, because Argo CD would always show a difference for a default in a list item. */
const STATUS_DEFAULT = 200;
const BODYLESS_ITEM = `(has(self.status) && ${BODYLESS})`;
const isBodyless = ({ status = STATUS_DEFAULT }: Body): boolean => BODYLESS_STATUSES.includes(status);

const bodyRules: readonly Rule<Body>[] = [
  {
    cel: '!has(self.body) || !has(self.bodyBase64)',
    holds: ({ body, bodyBase64 }) => body === undefined || bodyBase64 === undefined,
    message: 'must be omitted if bodyBase64 is set',
    field: 'body',
  },
  {
    cel: '!has(self.template) || !has(self.bodyBase64)',
    holds: ({ template, bodyBase64 }) => template === undefined || bodyBase64 === undefined,
    message: 'must be omitted if template is set: expressions need body',
    field: 'bodyBase64',
  },
  {
    cel: `!${BODYLESS_ITEM} || ((!has(self.body) || self.body == '') && !has(self.bodyBase64))`,
    holds: (self) => !isBodyless(self) || ((self.body ?? '') === '' && self.bodyBase64 === undefined),
    message: 'must be a status whose response can have a body, or body and bodyBase64 must be omitted (RFC 9110)',
    field: 'status',
  },
];

const response = withRules(
  z.strictObject({
    name: withRules(text({ min: 1, max: 63 }), [
      matches(
        '[a-z0-9]([a-z0-9-]*[a-z0-9])?',
        'must be lowercase letters, digits and -, beginning and ending with a letter or digit',
      ),
    ]).describe('Name of the response, unique in the Endpoint, for example gold.'),
    when: when
      .optional()
      .describe(
        'Conditions that a request must meet, all of them. Only the last response can omit them: it matches every request.',
      ),
    status: integer(200, 599)
      .optional()
      .describe(`HTTP status of the response, for example 201. Default: ${STATUS_DEFAULT}.`),
    headers: z
      .array(header)
      .max(LIMITS.responseHeadersMax)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe(
        'Response headers, in the order in which they are sent. If content-type is missing, content-type: application/json is added. The body must be a JSON document unless content-type is not JSON.',
      ),
    body: text({ max: LIMITS.responseBodiesBytesMax })
      .optional()
      .describe(
        'The response body as text, for example {"plan": "gold"}. It is returned verbatim, in UTF-8. Omit it for a response without a body.',
      ),
    // The API server's limit for the cost of rules does not allow a pattern for text of this length.
    bodyBase64: text({ max: Math.ceil(LIMITS.responseBodiesBytesMax / 3) * 4 })
      .optional()
      .describe(
        'The response body in base64 (RFC 4648, with padding, on one line), for content that is not text, for example iVBORw0KGgo=.',
      ),
    delay,
    template,
  }),
  bodyRules,
).describe('A mock response and the conditions under which it is returned.');

export const responses = withRules(uniqueNames(z.array(response).min(1).max(LIMITS.responsesMax)), [
  {
    cel: 'self.filter(r, !has(r.when)).size() == 0 || (self.filter(r, !has(r.when)).size() == 1 && !has(self[self.size() - 1].when))',
    holds: (self) => self.slice(0, -1).every((one) => one.when !== undefined),
    message:
      'must have conditions (when) in every response but the last one, because later responses would never be returned',
  },
]);
