import { z } from 'zod';
import { openLog } from '../projects/projects.ts';
import { explainRequest } from '../requests/explain-request.ts';
import { foundRequest } from '../requests/found-request.ts';
import { countSettled } from '../requests/recent-requests.ts';
import { listOldest, waitForRequests } from '../requests/wait-for-requests.ts';
import {
  after,
  cursor,
  filterParams,
  formatCursor,
  limit,
  order,
  projectParams,
  searchFilter,
  settled,
  timeout,
  timeRange,
  view,
  waitCount,
  waitMax,
} from './parameters.ts';
import { API_PROBLEMS, ApiProblem, problemBody } from './problems.ts';
import { requestViews } from './request-views.ts';
import { defineRoute, writeItems, writeJson } from './route.ts';
import { countSchema, explanationSchema, requestListSchema, requestSchema, summarySchema } from './schemas.ts';
import { orUnsettled, settleLog } from './settle-log.ts';
import { streamRequests } from './stream-requests.ts';

const REQUESTS = '/namespaces/{namespace}/projects/{project}/requests';
const requestParams = projectParams.extend({ id: z.string().min(1).max(64).describe('Captured request id.') });
const READS_LOG = ['project_not_found', 'log_unavailable'] as const;
const SEARCHES = [...READS_LOG, 'search_invalid', 'search_too_slow'] as const;

const NDJSON = 'application/x-ndjson';
const EVENT_STREAM = 'text/event-stream';
/** Header with the cursor of the next page, which a list of lines (NDJSON) cannot contain in its body. */
const NEXT_CURSOR_HEADER = 'standin-next-cursor';

type FilterQuery = Parameters<typeof timeRange>[0] & { readonly q?: string | undefined };
const parseRange = ({ q, ...range }: FilterQuery) => ({ search: searchFilter(q), ...timeRange(range) });

const listRequests = defineRoute({
  method: 'GET',
  path: REQUESTS,
  operationId: 'listRequests',
  tag: 'Requests',
  summary: 'List captured requests',
  description: `With \`accept: ${NDJSON}\`, the response has one item per line, and the cursor is in the \`${NEXT_CURSOR_HEADER}\` header.`,
  params: projectParams,
  query: z.strictObject({ ...filterParams, order, limit, cursor, view: view('entry') }),
  answers: {
    200: {
      description: 'A page of captured requests.',
      content: { 'application/json': requestListSchema, [NDJSON]: z.union([requestSchema, summarySchema]) },
    },
  },
  problems: SEARCHES,
  handle: async (call) => {
    const { order: direction, limit: wanted, cursor: after, view: shown, ...filter } = call.query;
    const log = await openLog(call.backend, call.params);
    const summaries = await log.summaries({ ...parseRange(filter), order: direction, limit: wanted, after });
    const last = summaries.length < wanted ? undefined : summaries.at(-1);
    const nextCursor = last && formatCursor(last);
    const views = requestViews(log, summaries, shown);
    const isNdjson = call.headers.accept.includes(NDJSON);
    return {
      kind: 'stream',
      headers: {
        'content-type': isNdjson ? NDJSON : 'application/json',
        ...(nextCursor !== undefined && { [NEXT_CURSOR_HEADER]: nextCursor }),
      },
      run: async (write) => {
        if (isNdjson)
          for await (const item of views) {
            await writeJson(write, item);
            await write('\n');
          }
        else {
          const end = nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`;
          await writeItems(write, views, { before: '{"items":[', after: `]${end}}\n` });
        }
      },
    };
  },
});

const countRequests = defineRoute({
  method: 'GET',
  path: `${REQUESTS}:count`,
  operationId: 'countRequests',
  tag: 'Requests',
  summary: 'Count matching requests',
  params: projectParams,
  query: z.strictObject({ ...filterParams, settled }),
  answers: { 200: { description: 'The number of matching requests.', content: { 'application/json': countSchema } } },
  problems: [...SEARCHES, 'log_unsettled'],
  handle: async (call) => {
    const { settled: isSettled, ...filter } = call.query;
    const range = parseRange(filter);
    const log = await openLog(call.backend, call.params);
    const counting = isSettled ? orUnsettled(countSettled(log, range, call.signal)) : log.count(range);
    return { kind: 'json', body: { count: await counting } };
  },
});

/** Throws an `ApiProblem` if no number of requests can satisfy both. */
const parseCount = (count: number | undefined, max: number | undefined): number => {
  const least = count ?? Math.min(1, max ?? 1);
  const invalid = (name: string, message: string) =>
    new ApiProblem('parameter_invalid', `${name}: ${message}`, { errors: [{ name, message }] });
  if (max === undefined && least === 0) throw invalid('count', 'must be at least 1 without max');
  if (max !== undefined && max < least) throw invalid('max', 'must not be less than count');
  return least;
};

interface Waited {
  readonly count: number;
  readonly max: number | undefined;
  readonly timeoutMs: number;
}

const waitProblem = (found: number, { count, max, timeoutMs }: Waited): ApiProblem | undefined => {
  if (max !== undefined && found > max)
    return new ApiProblem('wait_exceeded', `More than ${max} requests were captured.`);
  if (found >= count) return undefined;
  return new ApiProblem('wait_timeout', `${found} of ${count} requests were captured within ${timeoutMs} ms.`);
};

const awaitRequests = defineRoute({
  method: 'GET',
  path: `${REQUESTS}:wait`,
  operationId: 'waitForRequests',
  tag: 'Requests',
  summary: 'Wait for matching requests',
  description:
    'For test suites. Requests that are already captured also count. Exclude them with `after`, `from`, or a search for a value that only this test sends. With `max`, the wait lasts until the timeout, and everything that was accepted until then counts.',
  params: projectParams,
  query: z.strictObject({
    q: filterParams.q,
    from: filterParams.from,
    after,
    count: waitCount,
    max: waitMax,
    settled: settled.describe('Only with `max`. As in `requests:count`.'),
    timeout: timeout('10s', 'Maximum time to wait.'),
    view: view('entry'),
  }),
  answers: {
    200: {
      description: 'The first `count` matching requests, oldest first. With `max`, all of them.',
      content: { 'application/json': requestListSchema },
    },
  },
  problems: [...SEARCHES, 'request_not_found', 'wait_timeout', 'wait_exceeded', 'log_unsettled', 'too_many_readers'],
  handle: async (call) => {
    const { after: id, max, timeout: timeoutMs, view: shown, settled: isSettled, ...filter } = call.query;
    const count = parseCount(filter.count, max);
    const range = parseRange(filter);
    const log = await openLog(call.backend, call.params);
    // Without its bodies, because it is in memory during the whole wait.
    const behind = id === undefined ? undefined : (await foundRequest(log.preview(id, 0))).entry;
    const wanted = { ...range, after: behind, count: max === undefined ? count : max + 1 };
    let found = await waitForRequests(log, { ...wanted, timeoutMs }, call.signal);
    // A wait that was cut short shows neither that requests are missing nor that there are no more.
    if (found.length < wanted.count) call.signal.throwIfAborted();
    if (max !== undefined && found.length <= max && isSettled) {
      await settleLog(log, call.signal);
      found = await listOldest(log, wanted);
    }
    const problem = waitProblem(found.length, { count, max, timeoutMs });
    // Reads a few exchanges at a time while it sends them, because the bodies of a thousand exchanges can take 20 GiB.
    return {
      kind: 'stream',
      status: problem === undefined ? 200 : API_PROBLEMS[problem.code].status,
      headers: { 'content-type': problem === undefined ? 'application/json' : 'application/problem+json' },
      run: (write) =>
        writeItems(write, requestViews(log, found, shown), {
          before:
            problem === undefined ? '{"items":[' : `${JSON.stringify(problemBody(problem)).slice(0, -1)},"items":[`,
          after: ']}\n',
        }),
    };
  },
});

const followRequests = defineRoute({
  method: 'GET',
  path: `${REQUESTS}:stream`,
  operationId: 'streamRequests',
  tag: 'Requests',
  summary: 'Stream requests as they are captured',
  description:
    `Server-sent events: \`request\` (data: an item), \`problem\` (data: a Problem; the stream continues). A client that
reconnects with \`Last-Event-ID\` misses nothing, but may receive requests from the last minute again. Compare their ids.`.replaceAll(
      '\n',
      ' ',
    ),
  params: projectParams,
  query: z.strictObject({
    q: filterParams.q,
    from: filterParams.from.describe('Start with requests received at this time or later. Default: now.'),
    view: view('entry'),
  }),
  answers: {
    200: {
      description: 'Events until the client or the server closes the stream.',
      content: { [EVENT_STREAM]: z.string() },
    },
  },
  problems: [...SEARCHES, 'too_many_readers'],
  handle: async (call) => {
    const { view: shown, q, from } = call.query;
    const options = { search: searchFilter(q), sinceUs: from, view: shown, lastEventId: call.headers.lastEventId };
    const log = await openLog(call.backend, call.params);
    return {
      kind: 'stream',
      headers: { 'content-type': EVENT_STREAM, 'x-accel-buffering': 'no' },
      run: (write) => streamRequests(log, options, write, call.signal),
    };
  },
});

const getRequest = defineRoute({
  method: 'GET',
  path: `${REQUESTS}/{id}`,
  operationId: 'getRequest',
  tag: 'Requests',
  summary: 'Get a captured request',
  params: requestParams,
  answers: { 200: { description: 'The request and its response.', content: { 'application/json': requestSchema } } },
  problems: [...READS_LOG, 'request_not_found'],
  handle: async ({ backend, params }) => {
    const log = await openLog(backend, params);
    return { kind: 'json', body: await foundRequest(log.get(params.id)) };
  },
});

const getBody = defineRoute({
  method: 'GET',
  path: `${REQUESTS}/{id}/body`,
  operationId: 'getRequestBody',
  tag: 'Requests',
  summary: 'Get the bytes of a captured body',
  params: requestParams,
  query: z.strictObject({ part: z.enum(['request', 'response']).default('request') }),
  answers: {
    200: {
      description: 'The bytes as received. `standin-truncated: true` means that only part of the body is stored.',
      content: { 'application/octet-stream': z.string() },
    },
  },
  problems: [...READS_LOG, 'request_not_found'],
  handle: async (call) => {
    const log = await openLog(call.backend, call.params);
    const row = await foundRequest(log.row(call.params.id));
    const { part } = call.query;
    const isTruncated = part === 'response' && row.responseTruncated;
    return {
      kind: 'bytes',
      bytes: part === 'request' ? row.requestBody : row.responseBody,
      headers: {
        // Never use the media type from the caller or upstream, because the body is untrusted.
        'content-type': 'application/octet-stream',
        'content-disposition': 'attachment',
        ...(isTruncated && { 'standin-truncated': 'true' }),
      },
    };
  },
});

const getExplanation = defineRoute({
  method: 'GET',
  path: `${REQUESTS}/{id}/explanation`,
  operationId: 'explainRequest',
  tag: 'Requests',
  summary: 'Explain the response to a captured request',
  description:
    'Evaluates the current endpoints of the project: which of them and which of its responses the request would get, and why not the others.',
  params: requestParams,
  answers: { 200: { description: 'The explanation.', content: { 'application/json': explanationSchema } } },
  problems: [...READS_LOG, 'request_not_found', 'busy', 'request_too_heavy'],
  handle: async ({ backend, workers, params }) => {
    const log = await openLog(backend, params);
    return { kind: 'json', body: await explainRequest({ backend, workers }, await foundRequest(log.row(params.id))) };
  },
});

export const requestRoutes = [
  ...[listRequests, countRequests, awaitRequests, followRequests],
  ...[getRequest, getBody, getExplanation],
];
