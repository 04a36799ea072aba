import { LIMITS, METHODS, REPLAY_ORDERS, REPLAY_PHASES, REPLAY_STATES, REPLAY_TARGETS } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind } from '../definition.ts';
import { commonStatus, INSTANT_PATTERN, instant, integer, logId, reference, text, timestamp } from '../fields.ts';
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
    name: withRules(text({ min: 1, max: LIMITS.headerNameLengthMax }), headerNameRules).describe('Sent as written.'),
    value: withRules(text({ max: LIMITS.replayHeaderValueLengthMax }), headerValueRules).describe(
      'Sent as ISO-8859-1.',
    ),
  })
  .describe('A header line.');

const edit = withRules(
  z.strictObject({
    method: z.enum(METHODS).optional().describe('Default: the captured one.'),
    target: withRules(text({ min: 1, max: LIMITS.requestTargetBytesMax }), [
      matches(
        '/[\\x21-\\x7e]*',
        'must begin with / and contain only visible ASCII characters: percent-encode other characters',
      ),
      lacks('^//|#', 'must not begin with // or contain a fragment'),
    ])
      .optional()
      .describe(
        'Path and query. With target Endpoint: including the project URI, as captured. With other targets, only the query is sent.',
      ),
    headers: z
      .array(header)
      .max(LIMITS.replayEditHeadersMax)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe(
        'All headers, in this order, instead of the captured ones. A replay also removes headers from this list.',
      ),
    body: text({ max: LIMITS.replayEditBytesMax }).optional().describe('Replaces the captured body.'),
    bodyEncoding: z.enum(['utf8', 'base64']).default('utf8').describe('Encoding of body.'),
  }),
  editRules,
);

const INSTANT = new RegExp(`^${INSTANT_PATTERN}$`);

interface Range {
  readonly from: string;
  readonly to: string;
}

const filter = withRules(
  z.strictObject({
    search: text({ max: LIMITS.replaySearchLengthMax })
      .optional()
      .describe(
        'A search in the language of the log: status:5xx method:POST. Default: all requests of the time range.',
      ),
    from: instant().describe('Requests received at this time or later.'),
    to: instant().describe('Requests received before this time.'),
    limit: integer(1, LIMITS.replayRequestsMax)
      .default(LIMITS.replayRequestsMax)
      .describe('Maximum number of matching requests to send, oldest first.'),
  }),
  [
    {
      cel: `!self.from.matches('^${INSTANT_PATTERN}$') || !self.to.matches('^${INSTANT_PATTERN}$') || timestamp(self.from) < timestamp(self.to)`,
      holds: ({ from, to }: Range) =>
        [from, to].some((time) => !INSTANT.test(time)) || Date.parse(from) < Date.parse(to),
      message: 'must be after from',
      field: 'to',
    },
  ],
);

const target = withRules(
  z.strictObject({
    kind: z
      .enum(REPLAY_TARGETS)
      .describe(
        'Endpoint: to the gateway, which captures the request again. Upstream: to the upstream of the Endpoint. URL: to url.',
      ),
    url: withRules(text({ min: 1, max: LIMITS.forwardUrlLengthMax }), upstreamUrlRules)
      .optional()
      .describe('http or https URL. The query of the request is appended.'),
  }),
  [
    {
      cel: "(self.kind == 'URL') == has(self.url)",
      holds: ({ kind, url }) => (kind === 'URL') === (url !== undefined),
      message: 'is required by kind URL, and not allowed for other kinds',
      field: 'url',
    },
  ],
);

const spec = withRules(
  z.strictObject({
    projectRef: reference('a Project').describe('The project whose requests are replayed.'),
    requestId: logId().optional().describe('The one captured request to send.'),
    filter: filter.optional().describe('All captured requests that match.'),
    edit: edit.optional().describe('What to change before sending. Only with requestId.'),
    target: target.describe('The destination of the requests.'),
    ratePerSecond: integer(1, LIMITS.replayRatePerSecondMax)
      .default(LIMITS.replayRatePerSecondDefault)
      .describe('Maximum number of requests per second.'),
    order: z
      .enum(REPLAY_ORDERS)
      .default('Any')
      .describe(
        'Original: one at a time, in the order of arrival. Each request waits for the response to the previous one.',
      ),
    state: z
      .enum(REPLAY_STATES)
      .default('Running')
      .describe('Suspended pauses the replay; Cancelled ends it permanently. The only field that can be changed.'),
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
).describe('The requests to replay, and their destination.');

const COUNT_MAX = Number.MAX_SAFE_INTEGER;
const count = (): z.ZodOptional<ReturnType<typeof integer>> => integer(0, COUNT_MAX).optional();

const status = z
  .strictObject({
    ...commonStatus,
    phase: z
      .enum(REPLAY_PHASES)
      .optional()
      .describe('Progress of the replay. Succeeded: every request got a response, with any status.'),
    planned: count().describe('Matching requests when the replay began.'),
    sent: count().describe('Requests that were sent, with or without a response.'),
    answered: count().describe('Requests that got a response, with any status.'),
    failed: count().describe(
      'Requests without a response: refused by the address policy, no connection, or timed out.',
    ),
    byStatus: z
      .array(z.strictObject({ status: integer(0, 999), count: integer(0, COUNT_MAX) }))
      .max(64)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['status'] })
      .describe('Requests per response status; 0: without a response.'),
    cursor: text({ max: 128 })
      .optional()
      .describe('All requests up to this one are sent and their responses stored. The next operator continues here.'),
    startedAt: timestamp().optional(),
    completedAt: timestamp().optional(),
    result: z
      .strictObject({
        status: integer(0, 999).optional().describe('Status of the response; 0: no response.'),
        durationMs: integer(0, COUNT_MAX)
          .optional()
          .describe('Time from sending the request to the last byte of the response.'),
        error: text({ max: LIMITS.conditionMessageLengthMax }).optional().describe('Why there is no response.'),
      })
      .optional()
      .describe('The response, if requestId is set. The whole response is in the log store.'),
  })
  .describe('Written by the operator.');

export type ReplaySpec = z.output<typeof spec>;
export type ReplayStatus = z.output<typeof status>;

export const replay = defineKind({
  kind: 'Replay',
  description:
    'Sends captured requests of a project again: to their endpoints, their upstreams or a URL. Runs once, and is removed a day after its end.',
  spec,
  status,
  conditions: ['Accepted', 'Complete'],
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
    {
      name: 'Message',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Complete")].message',
      priority: 1,
    },
    { name: 'Project', type: 'string', jsonPath: '.spec.projectRef.name', priority: 1 },
    { name: 'Status', type: 'integer', jsonPath: '.status.result.status', priority: 1 },
  ],
  selectableFields: ['.spec.projectRef.name'],
});
