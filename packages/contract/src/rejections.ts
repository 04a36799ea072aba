/**
 * Rejections: a gateway's responses to requests that never reach an endpoint. They are neither logged nor counted. They are sent as
 * RFC 9457 `application/problem+json` with the `standin-rejected: CODE` header. docs/reference/errors.md is generated from `REJECTIONS`.
 * `detail` says what the caller should do. The gateway can replace it with more specific text.
 */
export interface Rejection {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
}

export const REJECTIONS = {
  bad_request: {
    status: 400,
    title: 'The request is not valid HTTP/1.1',
    detail: 'Send one well-formed HTTP/1.1 request (see RFC 9112).',
    retryable: false,
  },
  host_invalid: {
    status: 400,
    title: 'Exactly one valid Host header is required',
    detail: 'Send exactly one Host header, with a valid host name or address (RFC 9112 section 3.2).',
    retryable: false,
  },
  target_invalid: {
    status: 400,
    title: 'The request target is neither a path nor a URL',
    detail:
      'Send a path that begins with a single slash, such as /PROJECT-URI/v1/orders, or an http or https URL with such a path, without a fragment (RFC 9112 section 3.2).',
    retryable: false,
  },
  chunks_too_small: {
    status: 400,
    title: 'The request body has too many small chunks',
    detail:
      'Send the body with a Content-Length, or buffer writes in the client so that each chunk is a few kilobytes long.',
    retryable: false,
  },
  api_key_missing: {
    status: 401,
    title: 'The x-api-key header is missing',
    detail: "Send the account's API key in the x-api-key header.",
    retryable: false,
  },
  api_key_repeated: {
    status: 401,
    title: 'More than one x-api-key header',
    detail: 'Send exactly one x-api-key header.',
    retryable: false,
  },
  api_key_header_name: {
    status: 401,
    title: 'The x-api-key header name is not lowercase',
    detail:
      'Send the name in lowercase: x-api-key. If your client or a proxy capitalizes header names, ask an administrator to set apiKeyHeader.name to any-case (standin dev: --api-key-header any-case).',
    retryable: false,
  },
  api_key_whitespace: {
    status: 401,
    title: 'The API key has whitespace around it',
    detail: 'Send x-api-key: KEY with at most one space after the colon and nothing after the key.',
    retryable: false,
  },
  api_key_invalid: {
    status: 401,
    title: 'This is not a valid API key',
    detail:
      "Use the account's current key. The dashboard shows it under Settings, API key. standin dev prints the key that is current when it starts. The name of the Secret that contains it on a cluster is in the output of kubectl get mac -o wide.",
    retryable: false,
  },
  api_key_other_account: {
    status: 401,
    title: 'This API key belongs to another account',
    detail: 'Use the key of the account that owns this project.',
    retryable: false,
  },
  signature_invalid: {
    status: 401,
    title: 'The signature is missing or invalid',
    detail:
      "Use the same secret and scheme at the sender and in the endpoint's credential. Send the request soon after it is signed, with its body unchanged. Or send the account's API key in the x-api-key header.",
    retryable: false,
  },
  project_not_found: {
    status: 404,
    title: 'No project has this URI',
    detail:
      "The first path segment must be a project's URI. The URLs in the dashboard and in the standin dev output contain the URI; on a cluster, kubectl get mpr shows these URLs.",
    retryable: false,
  },
  endpoint_not_found: {
    status: 404,
    title: 'No endpoint in this project has this path',
    detail:
      "Paths are compared byte by byte. The dashboard and, on a cluster, kubectl get mep list the paths. If this path is correct, check the Endpoint's conditions.",
    retryable: false,
  },
  method_not_allowed: {
    status: 405,
    title: 'No endpoint serves this method on this path',
    detail: 'The Allow header lists the methods that this path supports.',
    retryable: false,
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time',
    detail:
      'Send the request line and headers within 10 seconds and the whole request within 30 seconds, unless an administrator has set other limits.',
    retryable: true,
  },
  body_too_large: {
    status: 413,
    title: 'The request body is too large',
    detail: 'Send a smaller body, or ask an administrator to raise limits.requestBodyBytes.',
    retryable: false,
  },
  target_too_long: {
    status: 414,
    title: 'The request target is too long',
    detail: 'Shorten the path and query, or ask an administrator to raise limits.requestTargetBytes.',
    retryable: false,
  },
  expectation_failed: {
    status: 417,
    title: 'This expectation is not supported',
    detail: 'The only supported value of Expect is 100-continue.',
    retryable: false,
  },
  quota_exceeded: {
    status: 429,
    title: "The account's monthly quota is used up",
    detail:
      'Wait until the quota resets at the start of next month (UTC), or ask an administrator to raise monthlyQuota.',
    retryable: true,
  },
  rate_limited: {
    status: 429,
    title: 'The account sends too many requests per second',
    detail:
      'Send requests more slowly, or retry after the time in the Retry-After header. An administrator can raise the limit: see requestsPerSecond of the Account.',
    retryable: true,
  },
  headers_too_large: {
    status: 431,
    title: 'The request line and headers are too large',
    detail: 'Send fewer or shorter headers, or ask an administrator to raise limits.requestHeadBytes.',
    retryable: false,
  },
  not_ready: {
    status: 503,
    title: 'This gateway has no current configuration',
    detail: 'Try again shortly. The gateway is waiting for the operator.',
    retryable: true,
  },
  endpoint_not_accepted: {
    status: 503,
    title: 'The endpoint has a mistake',
    detail:
      'Correct the Endpoint: its conditions Accepted and ResolvedRefs, the output of standin dev, and standin validate say what is wrong. Until then, the requests of its path and method are refused.',
    retryable: true,
  },
  overloaded: {
    status: 503,
    title: "The namespace's share of the gateway is used up",
    detail: 'Wait for responses before you send more requests, or retry after the time in the Retry-After header.',
    retryable: true,
  },
  log_unavailable: {
    status: 503,
    title: 'The request cannot be stored at the moment',
    detail: 'The request had no effect. Retry after the time in the Retry-After header.',
    retryable: true,
  },
  quota_unavailable: {
    status: 503,
    title: 'The quota cannot be checked at the moment',
    detail: 'The request was not counted. Retry after the time in the Retry-After header.',
    retryable: true,
  },
} as const satisfies Record<string, Rejection>;

export type RejectionCode = keyof typeof REJECTIONS;

/** Marks every rejection, so that clients can tell it apart from an endpoint's response. */
export const REJECTED_HEADER = 'standin-rejected';

/**
 * The gateway's responses if an upstream fails after the request was accepted. They are problem+json too, but they are stored and
 * counted like any response, and have no `standin-rejected` header.
 */
export const UPSTREAM_FAILURES = {
  upstream_unreachable: { status: 502, title: 'The upstream could not be reached' },
  upstream_blocked: { status: 502, title: "The upstream's address is not allowed" },
  upstream_invalid: { status: 502, title: "The upstream's response is not valid HTTP" },
  upstream_timeout: { status: 504, title: 'The upstream did not respond in time' },
} as const;
export type UpstreamFailureCode = keyof typeof UPSTREAM_FAILURES;

/** All responses of the gateway itself to requests that were accepted. */
export const RESPONSE_FAILURES = {
  ...UPSTREAM_FAILURES,
  exchange_timeout: { status: 504, title: 'The exchange took too long' },
  template_failed: { status: 500, title: 'A template of the response could not be rendered' },
} as const;
export type ResponseFailureCode = keyof typeof RESPONSE_FAILURES;
