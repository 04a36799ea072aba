import { ACTIONS, CREDENTIALS, REQUEST_METHODS, OUTCOMES, REPLAY_TARGETS } from '@standin/contract';
import { DEFINITIONS } from '@standin/crds';
import type { LogEntry, LogSummary } from '@standin/exchange';
import type { ReplaySummary } from '@standin/logstore';
import { z } from 'zod';
import { assertionFailureSchema } from './assertion-schema.ts';
import { SHARE_STATES, type ShareView } from '../shares/list-shares.ts';

export { explanationSchema } from './explanation-schema.ts';

/** Sets the name of a schema in the OpenAPI document. */
const named = <T extends z.ZodType>(id: string, schema: T): T => schema.meta({ id });

const latin1 = 'One character per byte (ISO-8859-1).';
const whole = () => z.int().nonnegative();
const instant = () => z.string().meta({ format: 'date-time' });

const headers = z
  .array(z.tuple([z.string(), z.string()]))
  .describe(`Name and value of each header line, as received and in order. ${latin1}`);

const body = z.string().describe('Text if the body is valid UTF-8, otherwise base64.');
const bodyEncoding = z.enum(['utf8', 'base64']);

const summaryFields = {
  id: z.string().describe('UUIDv7.'),
  receivedAt: instant().describe('Time at which the request headers were received, in UTC with microseconds.'),
  namespace: z.string(),
  project: z.string(),
  endpoint: z.string().describe('Name of the Endpoint that handled the request.'),
  method: z.enum(REQUEST_METHODS),
  path: z.string().describe(`Path without the project URI, for example /v1/orders. ${latin1}`),
  query: z.string().describe(`Query without the question mark. ${latin1}`),
  status: whole().describe('0: no response was recorded.'),
  durationMs: z.number().describe('Time from the request headers to the last byte of the response.'),
  outcome: z.enum(OUTCOMES),
  responseName: z
    .string()
    .describe('Name of the item of spec.responses that responded. Empty: the action of the Endpoint responded.'),
  credential: z
    .enum(CREDENTIALS)
    .describe('How the caller authenticated: with the API key, or with the signature that the Endpoint requires.'),
  deliveryId: z
    .string()
    .describe(
      `The provider's id of a signed delivery, which repeats if the delivery is sent again. Otherwise empty. ${latin1}`,
    ),
  projectUid: z.string(),
} as const;

/** A captured request, as in a line of `standin logs -o json`. */
export const requestSchema = named(
  'CapturedRequest',
  z.object({
    ...summaryFields,
    request: z.object({
      target: z.string().describe(`As received, with the project URI. ${latin1}`),
      httpVersion: z.string(),
      headers,
      trailers: headers,
      body,
      bodyEncoding,
    }),
    response: z.object({
      status: whole(),
      headers,
      body,
      bodyEncoding,
      truncated: z.boolean().describe('Whether only part of the body is stored. bodyBytes is the full size.'),
      trailers: headers,
      bodyBytes: whole(),
    }),
    action: z.enum(ACTIONS),
    account: z.string(),
    endpointUid: z.string(),
    endpointGeneration: whole(),
    gateway: z.string(),
    keyFingerprint: z.string(),
    clientAddress: z.string(),
    upstreamUrl: z.string().describe('Upstream URL of a forwarded request, otherwise empty.'),
    upstreamError: z.string().describe('Why the upstream did not return a complete response, otherwise empty.'),
    delayMs: z.number().default(0).describe('Planned delay of the response. 0: none.'),
    templateError: z
      .string()
      .default('')
      .describe('Why a template of the response could not be rendered, otherwise empty.'),
    requestMs: z.number(),
    upstreamFirstByteMs: z.number(),
    expiresAt: instant().describe('Time at which the request expires.'),
  }),
) satisfies z.ZodType<LogEntry>;

/** The fields that lists show. */
export type RequestSummary = Omit<LogSummary, 'insertedAtMs'>;

export const summarySchema = named(
  'RequestSummary',
  z.object({ ...summaryFields, bodyBytes: whole().describe('Stored bytes of both bodies.') }),
) satisfies z.ZodType<RequestSummary>;

export const requestListSchema = named(
  'RequestList',
  z.object({
    items: z.array(z.union([requestSchema, summarySchema])).describe('In the format selected by `view`.'),
    nextCursor: z.string().optional().describe('`cursor` of the next page. Absent: there are no more items.'),
  }),
);

export const countSchema = named('RequestCount', z.object({ count: whole() }));

export const projectSchema = named(
  'Project',
  z.object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    displayName: z.string(),
    url: z
      .string()
      .optional()
      .describe('Beginning of the URLs of the endpoints. Absent until the operator has set it.'),
  }),
);
export type ApiProject = z.output<typeof projectSchema>;

export const createdProjectSchema = named(
  'CreatedProject',
  projectSchema.extend({
    endpoints: z.array(z.string()).describe('Names of the endpoints.'),
    isReady: z.boolean().describe('Whether all gateways serve the endpoints.'),
    message: z.string().describe('Why not, otherwise empty.'),
  }),
);

export const endpointSchema = named(
  'Endpoint',
  z.object({
    namespace: z.string(),
    name: z.string(),
    project: z.string().describe('Name of its project.'),
    method: z.string(),
    slug: z.string(),
  }),
);
export type ApiEndpoint = z.output<typeof endpointSchema>;

export const endpointListSchema = named('EndpointList', z.object({ items: z.array(endpointSchema) }));

export const projectListSchema = named('ProjectList', z.object({ items: z.array(projectSchema) }));

const replayFields = {
  requestId: z.string(),
  replayUid: z.string(),
  namespace: z.string(),
  replay: z.string(),
  sentAt: instant(),
  target: z.enum(REPLAY_TARGETS),
  url: z.string().describe('Requested URL.'),
  method: z.enum(REQUEST_METHODS),
  status: whole().describe('0: no response. `error` has the reason.'),
  error: z.string(),
  durationMs: z.number(),
} as const;

/** The result of one replayed request. */
export const replayResultSchema = named('ReplayResult', z.object(replayFields)) satisfies z.ZodType<ReplaySummary>;
export const replayResultListSchema = named('ReplayResultList', z.object({ items: z.array(replayResultSchema) }));

export const replayedExchangeSchema = named(
  'ReplayedExchange',
  z.object({
    ...replayFields,
    firstByteMs: z.number(),
    request: z.object({
      headers,
      body: z.object({ body, bodyEncoding }).optional().describe('Absent if the captured body was sent.'),
    }),
    response: z.object({
      status: whole(),
      headers,
      body,
      bodyEncoding,
      bodyBytes: whole(),
      truncated: z.boolean(),
    }),
  }),
);

/**
 * Returns the schema of a resource that requests a one-time operation, such as a Replay. It contains the fields that identify the
 * resource, its spec and its status.
 */
const operation = <S extends z.ZodType, T extends z.ZodType>(kind: string, { spec, status }: { spec: S; status: T }) =>
  named(
    kind,
    z.object({ namespace: z.string(), name: z.string(), uid: z.string(), createdAt: instant(), spec, status }),
  );

export const replaySchema = operation('Replay', DEFINITIONS.Replay);
export const replayListSchema = named('ReplayList', z.object({ items: z.array(replaySchema) }));
export type ApiReplay = z.output<typeof replaySchema>;

export const shareSchema = named(
  'Share',
  z.object({
    name: z.string(),
    requestId: z.string(),
    title: z.string().describe(`Method and target, redacted. ${latin1}`),
    createdAt: instant(),
    expiresAt: instant(),
    rules: whole().describe('Number of redacted names and paths, besides those that are always redacted.'),
    state: z.enum(SHARE_STATES),
    message: z.string().describe('Why the link does not work. Empty if the link works or has expired.'),
  }),
) satisfies z.ZodType<ShareView>;
export const shareListSchema = named('ShareList', z.object({ items: z.array(shareSchema) }));

export const createdShareSchema = named(
  'CreatedShare',
  z.object({
    name: z.string(),
    path: z.string().describe('Path of the link, relative to the URL of this dashboard. It cannot be retrieved again.'),
    expiresAt: instant(),
    isAccepted: z.boolean().describe('false: the link does not work until the operator has processed it.'),
  }),
);

export const accountSchema = named(
  'Account',
  z.object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    key: z.object({
      secretName: z.string().optional().describe('Secret that contains the key. Absent until the operator has set it.'),
      fingerprint: z.string().optional().describe('Identifies the key without revealing it.'),
      issuedAt: instant().optional().describe('Time at which the key became active.'),
      isOwn: z
        .boolean()
        .describe(
          'Whether the account has its own Secret. If so, change the key there. The key cannot be regenerated.',
        ),
    }),
    regenerations: z
      .object({
        left: whole().describe('Number of regenerations that are allowed now.'),
        max: whole().describe('Maximum number of regenerations within 60 minutes.'),
        resetsAt: instant()
          .optional()
          .describe(
            'Time at which the oldest regeneration no longer counts toward the limit. Absent if none counts toward it.',
          ),
      })
      .describe('Limit for key regenerations.'),
  }),
);
export const accountListSchema = named('AccountList', z.object({ items: z.array(accountSchema) }));
export type ApiAccount = z.output<typeof accountSchema>;

const day = () => z.iso.date().describe('A day in UTC.');
export const usageSchema = named(
  'Usage',
  z.object({
    month: z.string().describe('Calendar month in UTC: 2026-11.'),
    used: whole().describe('Requests that count against the quota.'),
    quota: whole().optional().describe('Maximum number of accepted requests per month. Absent if unlimited.'),
    resetsOn: day().describe('First day of the next month in UTC.'),
    usedUpOn: day()
      .optional()
      .describe(
        'Day on which the quota will be used up at the current rate. Absent if that day is not in this month, or if the quota is already used up.',
      ),
    total: whole().describe('Number of requests in the log this month.'),
    days: z.array(z.object({ day: day(), requests: whole() })).describe('Every day of the month.'),
    endpoints: z
      .array(z.object({ namespace: z.string(), project: z.string(), endpoint: z.string(), requests: whole() }))
      .describe('Busiest first, at most 100. Includes only endpoints in projects whose logs you can read.'),
    otherRequests: whole().describe('Requests to endpoints that are not listed.'),
    storedBytes: whole()
      .optional()
      .describe(
        'Bytes of the bodies that the log keeps now, of any month, before compression. Absent if `logFailure` is present.',
      ),
    logFailure: z
      .string()
      .optional()
      .describe('Why the log could not be read. If present, `days` and `endpoints` are empty.'),
  }),
);
export type ApiUsage = z.output<typeof usageSchema>;

export const refusedListSchema = named(
  'RefusedRequestList',
  z.object({
    items: z.array(
      z.object({
        code: z.string().describe('Code of the response. See docs/reference/errors.md.'),
        status: whole()
          .optional()
          .describe('Status of the response. Absent for a code that the dashboard does not know.'),
        title: z.string(),
        detail: z.string().describe('What the sender should do.'),
        method: z.string().optional().describe('Present, like `path`, if the API key was valid for the project.'),
        path: z.string().optional().describe('Without the project URI. Cut off after 256 bytes.'),
        slug: z.string().optional().describe('The slug that the path matched, if the API key was not valid.'),
        sender: z
          .string()
          .optional()
          .describe('Kind of the sender, such as GitHub or curl, if the API key was not valid.'),
        count: whole().describe('Number of these requests within the last hour.'),
        lastAt: instant().describe('Time at which the last one was refused.'),
      }),
    ),
    omitted: whole().describe('Number of refused requests to the project that are not in `items`.'),
    unknownProject: whole()
      .optional()
      .describe(
        'Number of refused requests without the URI of a project, to all gateways. Present if you can read the logs of all namespaces.',
      ),
    missingGateways: z.array(z.string()).describe('Gateways that did not respond. Their counts are missing.'),
  }),
);
export type ApiRefusedList = z.output<typeof refusedListSchema>;

export const apiKeySchema = named(
  'ApiKey',
  z.object({ apiKey: z.string().describe('Value of the x-api-key header.') }),
);

export const keyRegenerationSchema = operation('KeyRegeneration', DEFINITIONS.KeyRegeneration);
export const keyRegenerationListSchema = named(
  'KeyRegenerationList',
  z.object({ items: z.array(keyRegenerationSchema) }),
);
export type ApiKeyRegeneration = z.output<typeof keyRegenerationSchema>;

export const purgeSchema = operation('Purge', DEFINITIONS.Purge);
export const purgeListSchema = named('PurgeList', z.object({ items: z.array(purgeSchema) }));
export type ApiPurge = z.output<typeof purgeSchema>;

export const expectationSchema = operation('Expectation', DEFINITIONS.Expectation);
export const expectationListSchema = named('ExpectationList', z.object({ items: z.array(expectationSchema) }));
export type ApiExpectation = z.output<typeof expectationSchema>;

export const problemSchema = named(
  'Problem',
  z.object({
    type: z.string(),
    title: z.string(),
    status: whole(),
    code: z.string().describe('Stable code. See docs/reference/errors.md.'),
    detail: z.string(),
    errors: z
      .array(z.object({ name: z.string(), message: z.string() }))
      .optional()
      .describe('Problems by parameter or field.'),
    position: z
      .object({ from: whole(), to: whole() })
      .optional()
      .describe('search_invalid: the range of the error in `q`. `to` is exclusive.'),
    failures: z.array(assertionFailureSchema).optional().describe('assertion_failed: what does not hold.'),
    items: z.array(z.unknown()).optional().describe('wait_timeout: the requests captured so far.'),
  }),
);
