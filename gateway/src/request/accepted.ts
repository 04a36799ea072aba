import type { AccountConfig, HeaderPair } from '@standin/contract';
import type { Exchange } from './exchange.ts';
import type { RequestHead } from './request-head.ts';
import type { Responder, Route } from './route.ts';

/** The accounts that hold a request's key. */
export interface AuthenticatedByKey {
  readonly kind: 'key';
  /** A single account, unless users chose the same key for several accounts. */
  readonly holders: readonly AccountConfig[];
  readonly fingerprint: string;
  /** The key's SHA-256 in lowercase hex. The log contains only the fingerprint. */
  readonly keySha256: string;
}

/** A request without a key that was signed with one of its endpoint's secrets. */
export interface AuthenticatedBySignature {
  readonly kind: 'signature';
  readonly secretId: string;
  /** The provider's id of the delivery, in latin1. Empty if the scheme has none. */
  readonly deliveryId: string;
  /** The whole body, which is signed. */
  readonly body: Uint8Array;
}

export type Authenticated = AuthenticatedByKey | AuthenticatedBySignature;

/** One unit of an account's monthly quota. The request's log row contains it. */
export interface Permit {
  /** The month in which the permit counts, such as `2026-11`. */
  readonly period: string;
  readonly block: string;
  /** Unique within the block. */
  readonly number: number;
}

/** A complete request that has been matched and admitted. */
export interface Accepted {
  readonly id: string;
  readonly gateway: string;
  readonly exchange: Exchange;
  readonly head: RequestHead;
  readonly body: Uint8Array;
  readonly trailers: readonly HeaderPair[];
  readonly authenticated: Authenticated;
  readonly route: Route;
  readonly responder: Responder;
  readonly permit: Permit;
  /** Microseconds from the arrival of the head to the end of the request. */
  readonly requestUs: number;
}
