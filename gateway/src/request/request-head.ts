import type { HeaderPair } from '@standin/contract';

/** A parsed request head. All text is latin1: one character per byte. */
export interface RequestHead {
  readonly method: string;
  /** The request target as received. */
  readonly target: string;
  /** The first path segment, without slashes. */
  readonly projectUri: string;
  /** The rest of the path, up to the query. */
  readonly path: string;
  /** The part of the target after the first `?`. */
  readonly query: string;
  readonly httpVersion: string;
  /** In wire order. The headers contain the key until `authenticate` replaces it with its fingerprint. */
  readonly headers: HeaderPair[];
  /** The approximate memory size of these headers. */
  readonly headerBytes: number;
  /** Of a target in absolute form, or else of the `Host` header. */
  readonly host: string;
  /** The number of headers named `x-api-key`, in any case. */
  readonly keyCount: number;
  /** The index in `headers` of the last header named `x-api-key`. */
  readonly keyIndex: number;
  /** Whether the key has whitespace around it on the wire, other than one space after the colon. */
  readonly keyPadded: boolean;
  /** 0 if the request has no Content-Length. */
  readonly contentLength: number;
  readonly isChunked: boolean;
  readonly expectsContinue: boolean;
}
