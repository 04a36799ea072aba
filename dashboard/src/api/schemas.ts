import { ACTIONS, METHODS, OUTCOMES } from '@standin/contract';
import type { LogEntry, LogSummary } from '@standin/logstore';
import { z } from 'zod';

/** Gives a schema its name in the OpenAPI document. */
const named = <T extends z.ZodType>(id: string, schema: T): T => schema.meta({ id });

const latin1 = 'One character per byte (ISO-8859-1).';
const whole = () => z.int().nonnegative();
const instant = () => z.string().meta({ format: 'date-time' });

const headers = z
  .array(z.tuple([z.string(), z.string()]))
  .describe(`Name and value of each header line, as received and in order. ${latin1}`);

const body = z.string().describe('Text where it is valid UTF-8, else base64.');
const bodyEncoding = z.enum(['utf8', 'base64']);

const summaryFields = {
  id: z.string().describe('UUIDv7.'),
  receivedAt: instant().describe('When the head had arrived; UTC, microseconds.'),
  namespace: z.string(),
  project: z.string(),
  endpoint: z.string().describe('Name of the Endpoint that answered.'),
  method: z.enum(METHODS),
  path: z.string().describe(`Behind the project URI: /v1/orders. ${latin1}`),
  query: z.string().describe(`Behind the first question mark. ${latin1}`),
  status: whole().describe('0: no answer was recorded.'),
  durationMs: z.number().describe('From the head to the last byte of the answer.'),
  outcome: z.enum(OUTCOMES),
  projectUid: z.string(),
} as const;

/** One line of `standin logs -o json`. */
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
      truncated: z.boolean().describe('Only a part of the body is stored; bodyBytes is its true size.'),
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
    upstreamUrl: z.string().describe('Forward: what was asked; else empty.'),
    upstreamError: z.string(),
    requestMs: z.number(),
    upstreamFirstByteMs: z.number(),
    expiresAt: instant().describe('From then on it is gone.'),
  }),
) satisfies z.ZodType<LogEntry>;

/** What a list shows. */
export type RequestSummary = Omit<LogSummary, 'insertedAtMs'>;

export const summarySchema = named(
  'RequestSummary',
  z.object({ ...summaryFields, bodyBytes: whole().describe('Stored bytes of both bodies.') }),
) satisfies z.ZodType<RequestSummary>;

export const requestListSchema = named(
  'RequestList',
  z.object({
    items: z.array(z.union([requestSchema, summarySchema])).describe('As `view` says.'),
    nextCursor: z.string().optional().describe('There may be more: the `cursor` of the next page.'),
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
    url: z.string().optional().describe('Where its endpoints answer; absent until the operator has said so.'),
  }),
);
export type ApiProject = z.output<typeof projectSchema>;

export const projectListSchema = named('ProjectList', z.object({ items: z.array(projectSchema) }));

export const problemSchema = named(
  'Problem',
  z.object({
    type: z.string(),
    title: z.string(),
    status: whole(),
    code: z.string().describe('Stable; docs/errors.md lists all.'),
    detail: z.string(),
    errors: z
      .array(z.object({ name: z.string(), message: z.string() }))
      .optional()
      .describe('By parameter or field.'),
    position: z
      .object({ from: whole(), to: whole() })
      .optional()
      .describe('search_invalid: the wrong characters of `q`; `to` is behind the last.'),
    items: z.array(z.unknown()).optional().describe('wait_timeout: the requests that did come.'),
  }),
);
