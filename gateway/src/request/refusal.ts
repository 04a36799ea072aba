import type { HeaderPair, RejectionCode } from '@standin/contract';

export interface RefusalOptions {
  /** More specific than the table's detail: what this caller should do. */
  readonly detail?: string;
  /** `Allow`, `Retry-After`, `WWW-Authenticate`. */
  readonly headers?: readonly HeaderPair[];
  /** Extension members of the problem (RFC 9457 section 3.2). */
  readonly members?: Readonly<Record<string, unknown>>;
  /** The next bytes of this connection cannot be trusted to be a request. */
  readonly closes?: boolean;
}

/** The part of a refused request that may be shown. */
export interface RejectedRequest {
  readonly code: RejectionCode;
  readonly status: number;
  /** Empty, like the path, for bytes that are not a request. */
  readonly method: string;
  /** As received, with the project URI; without the query, which may hold credentials. */
  readonly path: string;
}

/** A stage's decision not to accept a request. Stages return it and throw nothing. */
export class Refusal {
  readonly code: RejectionCode;
  readonly detail: string | undefined;
  readonly headers: readonly HeaderPair[];
  readonly members: Readonly<Record<string, unknown>> | undefined;
  readonly closes: boolean;

  constructor(code: RejectionCode, { detail, headers = [], members, closes = false }: RefusalOptions = {}) {
    this.code = code;
    this.detail = detail;
    this.headers = headers;
    this.members = members;
    this.closes = closes;
  }
}

/** Seconds after which a caller should retry a 503. */
const RETRY_AFTER: readonly HeaderPair[] = [['retry-after', '1']];

export const retryLater = (
  code: 'not_ready' | 'overloaded' | 'log_unavailable' | 'quota_unavailable',
  closes = false,
): Refusal => new Refusal(code, { headers: RETRY_AFTER, closes });
