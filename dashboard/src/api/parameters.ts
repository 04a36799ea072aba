import { LIMITS, parseDuration, parseInstant } from '@standin/contract';
import { LIST_LIMIT_MAX, type LogCursor } from '@standin/logstore';
import { parseFilter, type Filter } from '@standin/exchange/search';
import { z } from 'zod';
import { ApiProblem } from './problems.ts';

export const API_LIMITS = {
  listDefault: 100,
  waitCountMax: 1_000,
  /** Shorter than the timeouts of common load balancers, even if a settled read follows. */
  waitMsMax: 50_000,
  /**
   * Maximum number of concurrent waits and streams. While requests arrive, each wait or stream queries ClickHouse several times a
   * second.
   */
  readersMax: 100,
  bodyBytesMax: 1024 * 1024,
} as const;

const name = (what: string) => z.string().min(1).max(253).describe(what);

export const projectParams = z.object({
  namespace: name('Project namespace.'),
  project: name('Project name.'),
});

export const accountParams = z.object({
  namespace: name('Account namespace.'),
  account: name('Account name.'),
});

/** Microseconds since the epoch. */
const parseTimeUs = (text: string): number | undefined => {
  const ageMs = parseDuration(text);
  if (ageMs !== undefined) return (Date.now() - ageMs) * 1_000;
  return /(Z|[+-]\d{2}:\d{2})$/.test(text) ? parseInstant(text) : undefined;
};

const time = (what: string) =>
  z
    .string()
    .transform((text, context) => {
      const found = parseTimeUs(text);
      if (found !== undefined) return found;
      context.addIssue('must be an RFC 3339 time such as 2026-11-21T10:00:00Z, or an age such as 10m');
      return z.NEVER;
    })
    .optional()
    .describe(`${what} An RFC 3339 time, or an age: 30s, 10m, 2h, 1d.`);

/** Parameters that select requests. */
export const filterParams = {
  q: z
    .string()
    .optional()
    .describe('A search such as `status:>=500 path:/hooks/*` (docs/reference/search.md). Default: all requests.'),
  from: time('Received at this time or later.'),
  to: time('Received before this time.'),
};

export const view = (otherwise: 'entry' | 'summary') =>
  z
    .enum(['entry', 'summary'])
    .default(otherwise)
    .describe(
      'entry: the request and its response, with headers and bodies. summary: only the fields for a list, which is faster.',
    );

const cursorText = /^([0-9TZ:.-]{20,40})_([0-9a-f-]{36})$/;

export const formatCursor = ({ receivedAt, id }: LogCursor): string =>
  Buffer.from(`${receivedAt}_${id}`).toString('base64url');

export const cursor = z
  .string()
  .transform((text, context): LogCursor => {
    const [, receivedAt, id] = cursorText.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
    if (receivedAt !== undefined && id !== undefined) return { receivedAt, id };
    context.addIssue('must be the nextCursor of an earlier response');
    return z.NEVER;
  })
  .optional()
  .describe('`nextCursor` of the previous page. All other parameters must be unchanged.');

export const order = z.enum(['newest-first', 'oldest-first']).default('newest-first');

export const limit = z.coerce
  .number()
  .int()
  .min(1)
  .max(LIST_LIMIT_MAX)
  .default(API_LIMITS.listDefault)
  .describe('Maximum number of items.');

export const waitCount = z.coerce
  .number()
  .int()
  .min(0)
  .max(API_LIMITS.waitCountMax)
  .optional()
  .describe('Wait for this number of requests. Default: 1, or 0 if `max` is 0.');

export const waitMax = z.coerce
  .number()
  .int()
  .min(0)
  .max(API_LIMITS.waitCountMax)
  .optional()
  .describe(
    'Wait until the timeout, and fail if there are more requests than this. With `max=0`, no request may match.',
  );

export const settled = z
  .enum(['true', 'false'])
  .default('true')
  .transform((text) => text === 'true')
  .describe(
    'true: everything that the gateways accepted before the request for this read is counted, which takes up to two seconds. false: only what is in the log already.',
  );

/** The time that a route waits at most, in milliseconds. */
export const timeout = (otherwise: string, what: string) =>
  z
    .string()
    .default(otherwise)
    .transform((text, context) => {
      const ms = parseDuration(text);
      if (ms !== undefined && ms <= API_LIMITS.waitMsMax) return ms;
      context.addIssue(`must be a duration such as 500ms or 10s, at most ${API_LIMITS.waitMsMax / 1_000}s`);
      return z.NEVER;
    })
    .describe(`${what} For example 500ms or 10s, at most ${API_LIMITS.waitMsMax / 1_000}s.`);

export const after = z
  .string()
  .max(64)
  .optional()
  .describe('Id of a captured request. Only requests received after it count.');

interface TimeRange {
  /** In microseconds since the epoch, as `to`. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Throws an `ApiProblem` if the range ends before it begins. */
export const timeRange = ({ from, to }: TimeRange) => {
  if (from !== undefined && to !== undefined && to < from) {
    const errors = [{ name: 'to', message: 'must not be before from' }];
    throw new ApiProblem('parameter_invalid', 'to: must not be before from', { errors });
  }
  return { sinceUs: from, untilUs: to };
};

export const lifetime = z
  .string()
  .default('24h')
  .transform((text, context) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms > 0 && ms <= LIMITS.shareLifetimeMsMax) return ms;
    context.addIssue(`must be a duration such as 1h or 7d, at most ${LIMITS.shareLifetimeMsMax / 86_400_000}d`);
    return z.NEVER;
  })
  .describe('Lifetime of the link: 1h, 24h, 7d.');

/** Throws an `ApiProblem` with the position of the error. */
export const searchFilter = (q: string | undefined): Filter | undefined => {
  if (q === undefined) return undefined;
  const result = parseFilter(q);
  if (result.kind === 'parsed') return result.filter;
  const { message, from, to } = result.problem;
  throw new ApiProblem('search_invalid', message, { position: { from, to } });
};
