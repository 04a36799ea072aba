import {
  LIMITS,
  REQUEST_METHODS,
  REPLAY_ORDERS,
  REPLAY_PHASES,
  REPLAY_STATES,
  REPLAY_TARGETS,
} from '@standin/contract';
import { z } from 'zod';
import {
  OPERATION_CONDITIONS,
  OPERATION_MEANINGS,
  OPERATION_MESSAGE_COLUMN,
  ttlSecondsAfterFinished,
} from '../operations.ts';
import { AGE_COLUMN, defineKind } from '../definition.ts';
import { commonStatus, instant, integer, logId, rangeRule, reference, text, timestamp } from '../fields.ts';
import { headerNameRules, headerValueRules, upstreamUrlRules } from '../http-rules.ts';
import { immutable, lacks, matches, withRules, type Rule } from '../rules.ts';

const BASE64 = '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$';

interface Edit {
  readonly target?: string | undefined;
  readonly headers?: readonly { readonly name: string; readonly value: string }[] | undefined;
  readonly body?: string | undefined;
  readonly bodyEncoding: 'utf8' | 'base64';
}

const editBytes = ({ target = '', headers = [], body = '' }: Edit): number =>
  Buffer.byteLength(target) +
  Buffer.byteLength(body) +
  headers.reduce((sum, { name, value }) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);

const editRules: readonly Rule<Edit>[] = [
  {
    cel:
      '(has(self.target) ? size(bytes(self.target)) : 0) + (has(self.body) ? size(bytes(self.body)) : 0) + ' +
      '(has(self.headers) ? self.headers.map(h, size(bytes(h.name)) + size(bytes(h.value))).sum() : 0) ' +
      `<= ${LIMITS.replayEditBytesMax}`,
    holds: (self) => editBytes(self) <= LIMITS.replayEditBytesMax,
    message: `must be no more than ${LIMITS.replayEditBytesMax} bytes in total: send a larger request with another client`,
  },
  {
    cel: `self.bodyEncoding != 'base64' || !has(self.body) || self.body.matches('${BASE64}')`,
    holds: ({ body = '', bodyEncoding }) => bodyEncoding !== 'base64' || new RegExp(BASE64).test(body),
    message: 'must be base64 (RFC 4648, with padding, in one line), because bodyEncoding is base64',
    field: 'body',
  },
];

const header = z
  .strictObject({
    name: withRules(text({ min: 1, max: LIMITS.headerNameLengthMax }), headerNameRules).describe(
      'Name of the header, for example content-type. It is sent as written.',
    ),
    value: withRules(text({ max: LIMITS.replayHeaderValueLengthMax }), headerValueRules).describe(
      'Value of the header, for example application/json. It is sent as ISO-8859-1.',
    ),
  })
  .describe('A request header.');

const edit = withRules(
  z.strictObject({
    method: z.enum(REQUEST_METHODS).optional().describe('HTTP method. Default: the captured one.'),
    target: withRules(text({ min: 1, max: LIMITS.requestTargetBytesMax }), [
      matches(
        '/[\\x21-\\x7e]*',
        'must begin with / and contain only visible ASCII characters: percent-encode other characters',
      ),
      lacks('^//|#', 'must not begin with // or contain a fragment'),
    ])
      .optional()
      .describe(
        "Path and query, for example /k3v9x2m7q4hd8w1n/v1/orders?page=2. If target.kind is Endpoint, it begins with the project's URI. Otherwise, only the query is used. " +
          'Default: the captured ones.',
      ),
    headers: z
      .array(header)
      .max(LIMITS.replayEditHeadersMax)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe(
        'The complete list of headers to send, in order. It replaces the captured headers. Some headers, such as connection, are always removed, even if listed. Default: the captured ones.',
      ),
    body: text({ max: LIMITS.replayEditBytesMax })
      .optional()
      .describe('Request body, as text or base64. Default: the captured one.'),
    bodyEncoding: z
      .enum(['utf8', 'base64'])
      .default('utf8')
      .describe('Encoding of the body field. Use base64 for bytes that are not UTF-8.'),
  }),
  editRules,
);

const filter = withRules(
  z.strictObject({
    search: text({ max: LIMITS.replaySearchLengthMax })
      .optional()
      .describe(
        "A search in the log's search language, for example status:5xx method:POST. Default: all requests in the time range.",
      ),
    from: instant().describe(
      'Start of the time range: requests received at this time or later, for example 2026-11-21T09:00:00Z.',
    ),
    to: instant().describe(
      'End of the time range: requests received before this time, for example 2026-11-21T10:00:00Z.',
    ),
    limit: integer(1, LIMITS.replayRequestsMax)
      .default(LIMITS.replayRequestsMax)
      .describe('Maximum number of matching requests that are sent, oldest first, for example 1000.'),
  }),
  [rangeRule],
);

const target = withRules(
  z.strictObject({
    kind: z
      .enum(REPLAY_TARGETS)
      .describe(
        "Where requests are sent. Endpoint: to the gateway, which captures them again. Upstream: to the upstream in their Endpoint's spec.forward. URL: to the URL in the url field.",
      ),
    url: withRules(text({ min: 1, max: LIMITS.forwardUrlLengthMax }), upstreamUrlRules)
      .optional()
      .describe(
        "An http or https URL, for example https://staging.example.com/orders. Each request's query is appended. Required if kind is URL.",
      ),
  }),
  [
    {
      cel: "(self.kind == 'URL') == has(self.url)",
      holds: ({ kind, url }) => (kind === 'URL') === (url !== undefined),
      message: 'is required if kind is URL, and not allowed otherwise',
      field: 'url',
    },
  ],
);

const spec = withRules(
  z.strictObject({
    projectRef: reference('a Project', 'shop').describe('The project whose requests are replayed.'),
    requestId: logId()
      .optional()
      .describe(
        'Id of one captured request, for example 0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe. Only one of requestId and filter can be set.',
      ),
    filter: filter.optional().describe('Selects captured requests by time and search.'),
    edit: edit.optional().describe('Changes to the request before it is sent. Can only be set with requestId.'),
    target: target.describe('The destination of the requests.'),
    ratePerSecond: integer(1, LIMITS.replayRatePerSecondMax)
      .default(LIMITS.replayRatePerSecondDefault)
      .describe('Maximum number of requests per second, for example 20.'),
    order: z
      .enum(REPLAY_ORDERS)
      .default('Any')
      .describe(
        'The order of the requests. Any: several at a time. Original: one at a time, in the order in which they were received; each waits for the response to the previous one.',
      ),
    state: z
      .enum(REPLAY_STATES)
      .default('Running')
      .describe(
        'Suspended pauses the replay, Running continues it, Cancelled ends it permanently. Only this field and ttlSecondsAfterFinished can be changed.',
      ),
    ttlSecondsAfterFinished: ttlSecondsAfterFinished(),
  }),
  [
    {
      cel: 'has(self.requestId) != has(self.filter)',
      holds: (self) => (self.requestId === undefined) !== (self.filter === undefined),
      message: 'requires either requestId or filter, but not both',
    },
    {
      cel: '!has(self.edit) || has(self.requestId)',
      holds: (self) => self.edit === undefined || self.requestId !== undefined,
      message: 'is only allowed with requestId: with filter, requests are sent as captured',
      field: 'edit',
    },
  ],
).describe('The desired state: the requests to replay, and their destination.');

const COUNT_MAX = Number.MAX_SAFE_INTEGER;
const count = (): z.ZodOptional<ReturnType<typeof integer>> => integer(0, COUNT_MAX).optional();

const status = z
  .strictObject({
    ...commonStatus({
      Accepted: 'the spec is valid, and the project, the requests and the destination exist.',
      ...OPERATION_MEANINGS,
    }),
    phase: z
      .enum(REPLAY_PHASES)
      .optional()
      .describe(
        'The progress of the replay. Succeeded: every request got a response, with any status. Failed: at least one did not, or the replay could not begin.',
      ),
    planned: count().describe('Number of matching requests when the replay began.'),
    sent: count().describe('Number of requests that were sent, with or without a response.'),
    answered: count().describe('Number of requests that got a response, with any status.'),
    failed: count().describe(
      'Number of requests without a response, for example because the address is not allowed, the connection failed, or the request timed out.',
    ),
    byStatus: z
      .array(
        z
          .strictObject({
            status: integer(0, 999).describe('HTTP status of the responses, for example 201. 0 means no response.'),
            count: integer(0, COUNT_MAX).describe('Number of requests with this status.'),
          })
          .describe('The number of requests with one status.'),
      )
      .max(64)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['status'] })
      .describe('Number of requests by the status of their responses.'),
    cursor: text({ max: 128 })
      .optional()
      .describe(
        'Position in the log. All requests up to this position have been sent, and their responses have been stored. A new operator continues here.',
      ),
    startedAt: timestamp()
      .optional()
      .describe('When the first request was about to be sent, for example 2026-11-21T09:00:00Z.'),
    completedAt: timestamp().optional().describe('When the replay ended, for example 2026-11-21T09:05:00Z.'),
    result: z
      .strictObject({
        status: integer(0, 999)
          .optional()
          .describe('HTTP status of the response, for example 201. 0 means no response.'),
        durationMs: integer(0, COUNT_MAX)
          .optional()
          .describe('Milliseconds from sending the request to the last byte of the response, for example 12.'),
        error: text({ max: LIMITS.conditionMessageLengthMax })
          .optional()
          .describe('Why there is no response, as a sentence for users.'),
      })
      .optional()
      .describe('The response, if requestId is set. The dashboard and the JSON API show the complete response.'),
  })
  .describe('The observed state, written by the operator.');

export type ReplaySpec = z.output<typeof spec>;
export type ReplayStatus = z.output<typeof status>;

export const replay = defineKind({
  kind: 'Replay',
  description:
    "Sends a project's captured requests again, to their endpoints, their upstreams or a URL. Runs once, and is by default deleted a day after it ends.",
  spec,
  status,
  conditions: OPERATION_CONDITIONS,
  nameRules: [],
  transitions: [
    ...immutable<ReplaySpec>(
      ['projectRef', 'requestId', 'filter', 'edit', 'target', 'ratePerSecond', 'order'],
      new Set(['requestId', 'filter', 'edit']),
      'cannot be changed, because requests may have been sent: create another Replay',
    ),
    {
      cel: "oldSelf.state != 'Cancelled' || self.state == 'Cancelled'",
      holds: (self, oldSelf) => oldSelf.state !== 'Cancelled' || self.state === 'Cancelled',
      message: 'cannot be changed after the replay was cancelled: create another Replay',
      field: 'state',
    },
  ],
  printerColumns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Sent', type: 'integer', jsonPath: '.status.sent' },
    { name: 'Planned', type: 'integer', jsonPath: '.status.planned' },
    { name: 'Failed', type: 'integer', jsonPath: '.status.failed' },
    { name: 'Target', type: 'string', jsonPath: '.spec.target.kind' },
    AGE_COLUMN,
    OPERATION_MESSAGE_COLUMN,
    { name: 'Project', type: 'string', jsonPath: '.spec.projectRef.name', priority: 1 },
    { name: 'Status', type: 'integer', jsonPath: '.status.result.status', priority: 1 },
  ],
  selectableFields: ['.spec.projectRef.name'],
});
