import type { AccountConfig, HeaderPair } from '@standin/contract';
import type { Exchange } from './exchange.ts';
import type { RequestHead } from './request-head.ts';
import type { Route } from './route.ts';

/** The accounts that hold the key of a request. */
export interface Authenticated {
  /** One account, unless people chose the same own key for several. */
  readonly holders: readonly AccountConfig[];
  readonly fingerprint: string;
  /** Lower-case hex. It never leaves this process. */
  readonly keySha256: string;
}

/** One unit of an account's quota. The log row of the request contains it. */
export interface Permit {
  /** The month that it counts in: `2026-11`. */
  readonly period: string;
  readonly block: string;
  /** Unique within the block. */
  readonly number: number;
}

/** A complete request that is matched and admitted. */
export interface Accepted {
  readonly id: string;
  readonly gateway: string;
  readonly exchange: Exchange;
  readonly head: RequestHead;
  readonly body: Uint8Array;
  readonly trailers: readonly HeaderPair[];
  readonly authenticated: Authenticated;
  readonly route: Route;
  readonly permit: Permit;
  /** Called once the request is recorded or refused. Until then, neither its key nor its permit is settled. */
  readonly settle: () => void;
  /** Microseconds from the head's arrival to the end of the body. */
  readonly requestUs: number;
}
