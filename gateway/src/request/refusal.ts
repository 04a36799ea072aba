import type { HeaderPair, RejectionCode } from '@standin/contract';

export interface RefusalOptions {
  /** Tells this caller what to do, if that is more specific than the code's detail in `REJECTIONS`. */
  readonly detail?: string;
  /** Additional headers, such as `Allow` or `Retry-After`. */
  readonly headers?: readonly HeaderPair[];
  /** Extension members of the problem (RFC 9457 section 3.2). */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Whether the response ends the connection, because the bytes that follow may not be a request. */
  readonly closes?: boolean;
}

/** The parts of a refused request that may be shown. */
export interface RejectedRequest {
  readonly code: RejectionCode;
  readonly status: number;
  /** Empty, like the path, if the request is refused before its head is read. */
  readonly method: string;
  /** As received, including the project URI but without the query, which may contain credentials. */
  readonly path: string;
}

/** A stage's decision not to accept a request. Stages return it instead of throwing it. */
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

/** Asks the caller to retry one second after a 503 response. */
const RETRY_AFTER: readonly HeaderPair[] = [['retry-after', '1']];

export const retryLater = (
  code: 'not_ready' | 'endpoint_not_accepted' | 'overloaded' | 'log_unavailable' | 'quota_unavailable',
  options: Pick<RefusalOptions, 'detail' | 'closes'> = {},
): Refusal => new Refusal(code, { headers: RETRY_AFTER, ...options });
