import { countRangeText, listText, printable } from '@standin/contract';
import type { LogEntry } from '@standin/exchange';
import { parseFilter } from '@standin/exchange/search';
import { z } from 'zod';
import { openLog } from '../projects/projects.ts';
import {
  ASSERT_LIMITS,
  assertRequests,
  type Expectation,
  type Failure,
  type Found,
} from '../requests/assert-requests.ts';
import { foundRequest } from '../requests/found-request.ts';
import { assertionSchema, type ApiAssertionFailure } from './assertion-schema.ts';
import { after, filterParams, projectParams, timeout, timeRange } from './parameters.ts';
import { ApiProblem } from './problems.ts';
import { defineRoute } from './route.ts';
import { settleLog } from './settle-log.ts';

/** More than a log can contain. */
const COUNT_MAX = 1_000_000_000_000;
const PATH_LENGTH_MAX = 256;

const bound = (what: string) => z.int().min(0).max(COUNT_MAX).optional().describe(what);

const expectation = z.strictObject({
  q: z.string().describe('A search (docs/reference/search.md). Empty: any request.'),
  count: z
    .strictObject({ min: bound('Default: 0.'), max: bound('Default: any number. 0: never.') })
    .refine(({ min, max }) => min !== undefined || max !== undefined, 'must have min, max or both')
    .refine(({ min = 0, max = Infinity }) => min <= max, 'min must not be greater than max')
    .optional()
    .describe('How many requests must match. Default: at least one.'),
});

const assertionBody = z
  .strictObject({
    expectations: z.array(expectation).max(ASSERT_LIMITS.expectationsMax).default([]),
    inOrder: z
      .boolean()
      .default(false)
      .describe(
        'There must be one matching request for each expectation, each received after the one before, by `receivedAt` and then `id`. Other requests may be in between. Expectations whose `max` is 0, or that have no `min` and no match, have no place in the order.',
      ),
    nothingElse: z
      .boolean()
      .default(false)
      .describe('Each request in the window must match at least one of the searches.'),
    from: filterParams.from,
    to: filterParams.to,
    after,
    timeout: timeout(
      '0s',
      'How long requests may still arrive. With a `max`, with `nothingElse`, or with `inOrder` and a `min` of 0, the response comes after this time. Otherwise, it comes as soon as the assertion holds.',
    ),
    settled: z
      .boolean()
      .default(true)
      .describe('false: decide by what is in the log now, which may lack requests that were just answered.'),
  })
  .refine(({ expectations, nothingElse }) => expectations.length > 0 || nothingElse, 'expectations must not be empty');

/** Throws an `ApiProblem` with the position of the error in the search. */
const toExpectation = ({ q, count = { min: 1 } }: z.output<typeof expectation>, index: number): Expectation => {
  const search = parseFilter(q);
  if (search.kind === 'parsed') return { q, search, min: count.min ?? 0, max: count.max };
  const { message, from, to } = search.problem;
  const name = `expectations.${index}.q`;
  throw new ApiProblem('search_invalid', `${name}: ${message}`, {
    errors: [{ name, message }],
    position: { from, to },
  });
};

const checkTerms = (expectations: readonly Expectation[]): void => {
  const terms = expectations.reduce((sum, { search }) => sum + search.terms.length, 0);
  if (terms <= ASSERT_LIMITS.termsMax) return;
  const message = `all searches together can have at most ${ASSERT_LIMITS.termsMax} conditions`;
  throw new ApiProblem('body_invalid', `expectations: ${message}`, { errors: [{ name: 'expectations', message }] });
};

type Reference = Pick<LogEntry, 'id' | 'receivedAt' | 'method' | 'path' | 'status'>;

const toReference = ({ id, receivedAt, method, path, status }: Reference) => ({
  id,
  receivedAt,
  method,
  path: path.slice(0, PATH_LENGTH_MAX),
  status,
});

const toApiFound = ({ count, requests }: Found) => ({ count, requests: requests.map(toReference) });

const toApiFailure = (failure: Failure, expectations: readonly Expectation[]): ApiAssertionFailure => {
  const found = toApiFound(failure.found);
  if (failure.kind === 'else') return { kind: 'else', wanted: 'none that no search matches', ...found, nearest: [] };
  const { q = '', min = 0, max } = expectations[failure.index] ?? {};
  const which = { expectation: failure.index, q };
  if (failure.kind === 'order')
    return { kind: 'order', ...which, wanted: `one after ${failure.after.id}`, ...found, nearest: [] };
  const nearest = failure.nearest.map(({ request, met, unmet, unknown }) => ({
    ...toReference(request.entry),
    met: [...met],
    unmet: [...unmet],
    unknown: [...unknown],
  }));
  return { kind: 'count', ...which, wanted: countRangeText({ min, max }), ...found, nearest };
};

/** The number of requests in the text of a failure. */
const SHOWN_MAX = 5;

const describeRequest = ({ id, receivedAt, method, path, status }: Reference): string =>
  `${method} ${printable(path)}  ${status === 0 ? 'no response' : status}  ${receivedAt}  ${id}`;

/** Describes a failure in a few lines, which a test prints. */
const describeFailure = ({ kind, q, wanted, count, requests, nearest }: ApiAssertionFailure): string => {
  const search = q === '' ? 'any request' : q;
  const title = {
    count: `${search}: expected ${wanted}, found ${count}`,
    order: `${search}: expected ${wanted}, found ${count}, all received before`,
    else: `expected no other requests, found ${count}`,
  }[kind];
  const lines = nearest.flatMap((request) => {
    const failed = request.unmet.map(({ text }) => text);
    const unknown = request.unknown.map(({ text }) => text);
    return [
      `    ${describeRequest(request)}`,
      ...(failed.length > 0 ? [`      does not meet ${listText(failed)}`] : []),
      ...(unknown.length > 0 ? [`      may not meet ${listText(unknown)}, because its body is long`] : []),
    ];
  });
  const others = requests.slice(0, SHOWN_MAX).map((request) => `    ${describeRequest(request)}`);
  const more = count > SHOWN_MAX ? [`    and ${count - SHOWN_MAX} more`] : [];
  return [
    title,
    ...(others.length > 0 ? ['  found:', ...others, ...more] : []),
    ...(lines.length > 0 ? ['  nearest:', ...lines] : []),
  ].join('\n');
};

export const assertionRoutes = [
  defineRoute({
    method: 'POST',
    path: '/namespaces/{namespace}/projects/{project}/requests:assert',
    operationId: 'assertRequests',
    tag: 'Requests',
    summary: 'Check which requests were captured',
    description:
      'For test suites. All expectations share one window of time. If they do not hold, the response is the problem `assertion_failed`, with the reason in `detail` and `failures`.',
    params: projectParams,
    body: assertionBody,
    answers: { 200: { description: 'The assertion holds.', content: { 'application/json': assertionSchema } } },
    problems: [
      'project_not_found',
      'log_unavailable',
      'log_unsettled',
      'search_invalid',
      'search_too_slow',
      'request_not_found',
      'assertion_failed',
      'too_many_readers',
    ],
    handle: async ({ backend, params, body, signal }) => {
      const expectations = body.expectations.map(toExpectation);
      checkTerms(expectations);
      const { after: id, inOrder, nothingElse, timeout: timeoutMs, settled } = body;
      const range = timeRange(body);
      const log = await openLog(backend, params);
      const behind = id === undefined ? undefined : (await foundRequest(log.preview(id, 0))).entry;
      const window = { ...range, after: behind };
      const settle = settled ? () => settleLog(log, signal) : undefined;
      const options = { expectations, inOrder, nothingElse, window, timeoutMs, settle };
      const { found, failures } = await assertRequests(log, options, signal);
      if (failures.length > 0) {
        const shown = failures.map((failure) => toApiFailure(failure, expectations));
        throw new ApiProblem('assertion_failed', shown.map(describeFailure).join('\n'), { failures: shown });
      }
      const items = expectations.map(({ q }, index) => ({
        q,
        ...toApiFound(found[index] ?? { count: 0, requests: [] }),
      }));
      return { kind: 'json', body: { expectations: items } };
    },
  }),
];
