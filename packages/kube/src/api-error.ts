// client-node's ApiException has the response as text, without the reason, the causes and Retry-After, and no message for a 401.

/** One problem in an object that was sent. */
export interface ApiCause {
  /** For example `FieldValueInvalid` or `FieldValueRequired`. */
  readonly reason?: string;
  readonly message?: string;
  /** For example `spec.json.headers[0].name`. */
  readonly field?: string;
}

/** The fields of a Kubernetes `Status` (meta/v1) that this package reads. */
export interface ApiStatus {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number; readonly causes?: readonly ApiCause[] };
  readonly metadata?: { readonly continue?: string };
}

export interface ApiErrorFields {
  /** The HTTP status, or 0 if there was no complete response. */
  readonly status: number;
  /**
   * The reason that Kubernetes returned (`NotFound`, `Conflict`, `Expired`, …), `Unknown` if the response contains no reason, or
   * `Unreachable` if there was no complete response.
   */
  readonly reason: string;
  /** For example `PATCH /apis/…`. */
  readonly request: string;
  /** The delay in the `Retry-After` header, or in `details.retryAfterSeconds` if there is no such header. */
  readonly retryAfterMs?: number;
  /** The problems per field, if the server rejects an object. */
  readonly causes?: readonly ApiCause[];
}

/**
 * Thrown when a call to the API server fails. If the response is a `Status` with a message, which names the object or the missing
 * permission, the error has the same `message`.
 */
export class ApiError extends Error implements ApiErrorFields {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly reason: string;
  readonly request: string;
  readonly retryAfterMs?: number;
  readonly causes: readonly ApiCause[];

  constructor(message: string, fields: ApiErrorFields, options?: ErrorOptions) {
    super(message, options);
    this.status = fields.status;
    this.reason = fields.reason;
    this.request = fields.request;
    this.causes = fields.causes ?? [];
    if (fields.retryAfterMs !== undefined) this.retryAfterMs = fields.retryAfterMs;
  }
}

const causeText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const code = (error as NodeJS.ErrnoException).code;
  if (error.message !== '') return error.message;
  // An AggregateError (IPv4 and IPv6 both refused) has a code but no message.
  return code ?? error.name;
};

/** Returns the error for a call without a complete response, for example if the connection was refused, reset or not trusted. */
export const unreachable = (server: string, request: string, cause: unknown): ApiError =>
  new ApiError(
    `the Kubernetes API server at ${server} did not respond: ${causeText(cause)}`,
    { status: 0, reason: 'Unreachable', request },
    { cause },
  );

/** Parses a number of seconds or an HTTP date (RFC 9110 §10.2.3). */
const parseRetryAfterMs = (value: string | undefined, now: Date): number | undefined => {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now.getTime();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
};

const parseStatus = (body: string): ApiStatus => {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    // A proxy between the client and the server may have responded with its own text.
    return body === '' ? {} : { message: body.slice(0, 500) };
  }
};

export interface RefusedResponse {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
  readonly now: Date;
}

/** Converts a response that is not 2xx into an error. */
export const refused = (request: string, response: RefusedResponse): ApiError => {
  const status = parseStatus(response.body);
  const detailSeconds = status.details?.retryAfterSeconds;
  const retryAfterMs =
    parseRetryAfterMs(response.retryAfter, response.now) ??
    (detailSeconds === undefined ? undefined : detailSeconds * 1_000);
  return new ApiError(status.message ?? `${request} returned HTTP status ${response.status}`, {
    status: response.status,
    reason: status.reason ?? 'Unknown',
    request,
    causes: status.details?.causes ?? [],
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
};

/**
 * Returns whether a call failed because its `resourceVersion` or `continue` is older than the oldest version that the server has
 * kept, so that the client must list again.
 */
export const isExpired = (error: unknown): boolean => error instanceof ApiError && error.status === 410;
export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.status === 404;
export const isConflict = (error: unknown): boolean => error instanceof ApiError && error.status === 409;
