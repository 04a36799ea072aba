export interface ApiProblemKind {
  readonly status: 400 | 401 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 421 | 422 | 429 | 500 | 503;
  readonly title: string;
  /** What to do, if the response's own `detail` does not say it. */
  readonly hint: string;
  /** Seconds, sent as `Retry-After`. Absent: the same request fails again. */
  readonly retryAfterS?: number;
}

/** Everything that the JSON API refuses, by `code`. Codes are never renamed. docs/errors.md is generated from this table. */
export const API_PROBLEMS = {
  parameter_invalid: {
    status: 400,
    title: 'A parameter cannot be used',
    hint: '`errors` names each one, with what it must be.',
  },
  search_invalid: {
    status: 400,
    title: 'The search cannot be read',
    hint: '`position` says where in `q`; docs/search.md has the language.',
  },
  body_invalid: {
    status: 400,
    title: 'The body cannot be used',
    hint: 'Send JSON as openapi.json describes it; `errors` names what is wrong.',
  },
  unauthorized: {
    status: 401,
    title: 'A valid token is needed',
    hint: 'Send `Authorization: Bearer TOKEN` with a token of the cluster, as from `kubectl create token`, or that of `standin dev --require-token`. Cookies do not count here.',
  },
  forbidden: {
    status: 403,
    title: 'Your account may not do this',
    hint: 'Ask for the right: `get` on `mockprojects/logs` reads a log.',
  },
  plan_required: {
    status: 403,
    title: 'The plan of the account does not include this',
    hint: 'An administrator of the account can set `spec.plan: Pro`.',
  },
  origin_forbidden: {
    status: 403,
    title: 'Another website sent this request',
    hint: 'The API of `standin dev` is for programs on this machine and for the dashboard itself.',
  },
  route_not_found: {
    status: 404,
    title: 'There is no such path in this API',
    hint: '/api/v1/openapi.json lists all.',
  },
  project_not_found: {
    status: 404,
    title: 'There is no such project',
    hint: 'GET /api/v1/projects lists those that you can see.',
  },
  account_not_found: {
    status: 404,
    title: 'There is no such account',
    hint: 'GET /api/v1/accounts lists those that you can see.',
  },
  key_not_found: {
    status: 404,
    title: 'The account has no API key',
    hint: 'Its Secret does not exist yet; the conditions of the Account have the reason.',
  },
  regeneration_not_found: {
    status: 404,
    title: 'There is no such regeneration',
    hint: 'A regeneration is removed a day after its end.',
  },
  request_not_found: {
    status: 404,
    title: 'There is no such captured request',
    hint: 'It belongs to another project, or it has expired.',
  },
  replay_not_found: {
    status: 404,
    title: 'There is no such replay',
    hint: 'A replay is removed a day after its end.',
  },
  share_not_found: { status: 404, title: 'There is no such link', hint: 'It may have been revoked.' },
  object_not_found: { status: 404, title: 'There is no such object', hint: 'It may have been deleted.' },
  method_not_allowed: {
    status: 405,
    title: 'This path does not answer this method',
    hint: 'The Allow header lists those that it does.',
  },
  wait_timeout: {
    status: 408,
    title: 'Fewer requests came than were waited for',
    hint: '`items` has those that did.',
  },
  conflict: {
    status: 409,
    title: 'The object already exists, or was changed',
    hint: 'Read it again, then repeat.',
  },
  body_too_large: { status: 413, title: 'The body is too large', hint: 'Send less than 1 MiB.' },
  media_type_unsupported: {
    status: 415,
    title: 'The body is not JSON',
    hint: 'Send `content-type: application/json`.',
  },
  host_invalid: {
    status: 421,
    title: 'This API answers on localhost only',
    hint: 'Use the address that standin dev printed.',
  },
  object_refused: { status: 422, title: 'The operator refuses the object', hint: '`detail` has its words.' },
  object_invalid: { status: 422, title: 'The object is not valid', hint: '`errors` names the fields.' },
  search_too_slow: {
    status: 422,
    title: 'The search takes too long',
    hint: 'Narrow its time with `from` and `to`, or search for longer texts.',
  },
  request_too_heavy: {
    status: 422,
    title: 'The captured request takes too much to process',
    hint: 'Redacting it takes too long or too much memory. Read its bodies instead.',
  },
  too_many_readers: {
    status: 429,
    title: 'Too many streams and waits are open',
    hint: 'Close some, or try again later.',
    retryAfterS: 5,
  },
  too_many_bodies: {
    status: 503,
    title: 'Too many request bodies are being read',
    hint: 'Try again in a few seconds.',
    retryAfterS: 2,
  },
  internal: { status: 500, title: 'The dashboard failed on this request', hint: 'Its log says why.' },
  busy: {
    status: 503,
    title: 'Too many large requests are being processed',
    hint: 'Try again shortly.',
    retryAfterS: 1,
  },
  log_unavailable: {
    status: 503,
    title: 'The log cannot be read now',
    hint: 'ClickHouse is unavailable; try again.',
    retryAfterS: 2,
  },
  resources_unavailable: {
    status: 503,
    title: 'The resources cannot be reached now',
    hint: 'The Kubernetes API is unavailable; try again.',
    retryAfterS: 2,
  },
} as const satisfies Record<string, ApiProblemKind>;

export type ApiProblemCode = keyof typeof API_PROBLEMS;

/** What is wrong in one place of a request: a parameter, or a field of the body. */
export interface PlacedError {
  readonly name: string;
  readonly message: string;
}

/** Extension members of a problem (RFC 9457 section 3.2). */
export interface ProblemMembers {
  readonly errors?: readonly PlacedError[];
  /** The position of the mistake in `q`: from its first character to after its last. */
  readonly position?: { readonly from: number; readonly to: number };
}

/** Thrown by handlers. The response is problem+json. */
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
