import type { ApiAssertionFailure } from './assertion-schema.ts';

export interface ApiProblemKind {
  readonly status: 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 421 | 422 | 429 | 500 | 503;
  readonly title: string;
  /** Tells the caller what to do next. Replaced if a response has a specific `detail`. */
  readonly hint: string;
  /** Sent as `Retry-After`, in seconds. Absent if the same request would fail again. */
  readonly retryAfterS?: number;
}

/** The JSON API's errors by `code`. Codes are never renamed. docs/reference/errors.md is generated from this table. */
export const API_PROBLEMS = {
  parameter_invalid: {
    status: 400,
    title: 'Invalid parameter',
    hint: '`errors` lists each invalid parameter and its valid values.',
  },
  search_invalid: {
    status: 400,
    title: 'Invalid search',
    hint: '`position` is the range of the error in `q`. See docs/reference/search.md for the search language.',
  },
  body_invalid: {
    status: 400,
    title: 'Invalid body',
    hint: 'Send JSON that matches openapi.json. `errors` lists the invalid fields.',
  },
  unauthorized: {
    status: 401,
    title: 'Missing or invalid token',
    hint: 'Send `Authorization: Bearer TOKEN` with a token from the cluster (`kubectl create token`) or from `standin dev --require-token`. The API ignores cookies.',
  },
  forbidden: {
    status: 403,
    title: 'Permission denied',
    hint: 'Ask an administrator for permission. To read a log, you need `get` on `mockprojects/logs`.',
  },
  plan_required: {
    status: 403,
    title: 'Not included in the account plan',
    hint: 'Ask an administrator to set `spec.plan: Pro` in the Account.',
  },
  origin_forbidden: {
    status: 403,
    title: 'Request from another website',
    hint: 'Only programs on this machine and the dashboard itself can use the API of `standin dev`.',
  },
  route_not_found: {
    status: 404,
    title: 'Path not found',
    hint: 'See /api/v1/openapi.json for all paths.',
  },
  project_not_found: {
    status: 404,
    title: 'Project not found',
    hint: 'To list the projects that you can see, use GET /api/v1/projects.',
  },
  account_not_found: {
    status: 404,
    title: 'Account not found',
    hint: 'List the accounts that you can see with GET /api/v1/accounts.',
  },
  key_not_found: {
    status: 404,
    title: 'API key not found',
    hint: 'The account Secret does not exist yet. See the conditions of the Account for the reason.',
  },
  regeneration_not_found: {
    status: 404,
    title: 'Regeneration not found',
    hint: 'By default, regenerations are deleted a day after they end.',
  },
  request_not_found: {
    status: 404,
    title: 'Captured request not found',
    hint: 'The request may have expired or been purged, or may belong to another project.',
  },
  replay_not_found: {
    status: 404,
    title: 'Replay not found',
    hint: 'By default, replays are deleted a day after they end.',
  },
  purge_not_found: {
    status: 404,
    title: 'Purge not found',
    hint: 'List the purges of the project. An administrator may have deleted this record.',
  },
  expectation_not_found: {
    status: 404,
    title: 'Expectation not found',
    hint: 'Expectations are deleted a day after they end.',
  },
  share_not_found: { status: 404, title: 'Link not found', hint: 'The link may have been revoked.' },
  object_not_found: { status: 404, title: 'Object not found', hint: 'The object may have been deleted.' },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    hint: 'Use a method from the Allow header.',
  },
  wait_timeout: {
    status: 408,
    title: 'Timed out waiting for requests',
    hint: '`items` contains the requests captured so far.',
  },
  wait_exceeded: {
    status: 409,
    title: 'More requests than the maximum',
    hint: '`items` contains the requests captured so far.',
  },
  conflict: {
    status: 409,
    title: 'Object already exists or was changed',
    hint: 'Read the object again, then retry.',
  },
  assertion_failed: {
    status: 409,
    title: 'Assertion does not hold',
    hint: '`detail` and `failures` show what was found instead, and which conditions of the search the nearest requests do not meet.',
  },
  body_too_large: { status: 413, title: 'Body too large', hint: 'Send less than 1 MiB.' },
  media_type_unsupported: {
    status: 415,
    title: 'Body is not JSON',
    hint: 'Send `content-type: application/json`.',
  },
  host_invalid: {
    status: 421,
    title: 'Host not allowed',
    hint: 'Use the URL of the dashboard. standin dev prints it, and accepts only localhost.',
  },
  object_refused: { status: 422, title: 'Object rejected by the operator', hint: 'See `detail` for the reason.' },
  object_invalid: { status: 422, title: 'Invalid object', hint: '`errors` lists the invalid fields.' },
  search_too_slow: {
    status: 422,
    title: 'Search too slow',
    hint: 'Narrow the time range with `from` and `to`, or use longer search terms.',
  },
  request_too_heavy: {
    status: 422,
    title: 'Captured request too large to process',
    hint: 'Processing it takes too much time or memory. Read the bodies instead.',
  },
  too_many_readers: {
    status: 429,
    title: 'Too many streams and waits',
    hint: 'Close some streams or waits, or try again later.',
    retryAfterS: 5,
  },
  too_many_bodies: {
    status: 503,
    title: 'Too many request bodies',
    hint: 'Try again in a few seconds.',
    retryAfterS: 2,
  },
  internal: {
    status: 500,
    title: 'Internal error',
    hint: 'Ask an administrator to see the dashboard log for details.',
  },
  busy: {
    status: 503,
    title: 'Too many large requests',
    hint: 'Try again shortly.',
    retryAfterS: 1,
  },
  log_unavailable: {
    status: 503,
    title: 'Log unavailable',
    hint: 'ClickHouse is unavailable. Try again later.',
    retryAfterS: 2,
  },
  log_unsettled: {
    status: 503,
    title: 'Log may not be complete',
    hint: 'A gateway does not report what it has accepted. Try again later, or read what is in the log with `settled=false`.',
    retryAfterS: 2,
  },
  resources_unavailable: {
    status: 503,
    title: 'Resources unavailable',
    hint: 'The Kubernetes API, or the folder of standin dev, is unavailable. Try again later.',
    retryAfterS: 2,
  },
} as const satisfies Record<string, ApiProblemKind>;

export type ApiProblemCode = keyof typeof API_PROBLEMS;

/** An error in one parameter or body field. */
export interface PlacedError {
  readonly name: string;
  readonly message: string;
}

/** Extension members of a problem (RFC 9457 section 3.2). */
export interface ProblemMembers {
  readonly errors?: readonly PlacedError[];
  /** The range of the error in `q`. `to` is exclusive. */
  readonly position?: { readonly from: number; readonly to: number };
  readonly failures?: readonly ApiAssertionFailure[];
}

/** An error thrown by handlers. The response is problem+json. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly code: ApiProblemCode;
  readonly members: ProblemMembers;

  constructor(code: ApiProblemCode, detail: string = API_PROBLEMS[code].hint, members: ProblemMembers = {}) {
    super(detail);
    this.code = code;
    this.members = members;
  }
}

export const problemBody = ({ code, message, members }: ApiProblem) => {
  const { title, status } = API_PROBLEMS[code];
  return { type: 'about:blank', title, status, code, detail: message, ...members };
};
