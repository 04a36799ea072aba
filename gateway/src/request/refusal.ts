import type { HeaderPair, RejectionCode } from '@standin/contract';

export interface RefusalOptions {
  /** More specific than the table's: what this caller should do. */
  readonly detail?: string;
  /** `Allow`, `Retry-After`, `WWW-Authenticate`. */
  readonly headers?: readonly HeaderPair[];
  /** Extension members of the problem (RFC 9457 section 3.2). */
  readonly members?: Readonly<Record<string, unknown>>;
  /** The rest of what this connection sends cannot be trusted to be what it seems. */
  readonly closes?: boolean;
}

/** What may be shown of a request that was refused. */
export interface RejectedRequest {
  readonly code: RejectionCode;
  readonly status: number;
  /** Empty, as is the path, for bytes that are no request. */
  readonly method: string;
  /** As received, with the project URI; without the query, which may hold credentials. */
  readonly path: string;
}

/** A decision of a stage that the request is not accepted. Stages return it; nothing is thrown on the way of a request. */
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

/** Seconds after which a 503 is worth another try. */
const RETRY_AFTER: readonly HeaderPair[] = [['retry-after', '1']];

export const retryLater = (
  code: 'not_ready' | 'overloaded' | 'log_unavailable' | 'quota_unavailable',
  closes = false,
): Refusal => new Refusal(code, { headers: RETRY_AFTER, closes });
