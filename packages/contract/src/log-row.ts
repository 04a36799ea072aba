import type { Action, Method } from './api-group.ts';
import type { HeaderPair } from './config-objects.ts';

/** How an accepted request ended. */
export const OUTCOMES = [
  /** The response is the endpoint's mock. */
  'mocked',
  /** A template of the mock could not be rendered (500). `templateError` is the reason. */
  'template_failed',
  /** The response is the upstream's. It was read to its end, or, if the caller disconnected, up to a limit. */
  'forwarded',
  /** The upstream failed, and the endpoint's fallback responded. `upstreamError` is the reason. */
  'fallback',
  /**
   * The upstream was unreachable, was blocked by the address policy or sent invalid HTTP (502), or stopped in the middle of its
   * response.
   */
  'upstream_failed',
  /** The upstream took longer than the endpoint's timeout to respond (504), or paused for longer than that in its response. */
  'upstream_timeout',
  /**
   * The exchange took longer than `limits.exchangeTimeoutMs` of the gateway, which ended it: with 504, or in the middle of the
   * response.
   */
  'exchange_timeout',
  /** The request was accepted and may have been sent upstream, but the process ended before it recorded a response. */
  'response_unknown',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What a caller can authenticate with: the key of the account, or the signature that its endpoint asks for. */
export const CREDENTIALS = ['key', 'signature'] as const;
export type Credential = (typeof CREDENTIALS)[number];

/**
 * One accepted request: a row in the `log` table. Ids and everything that ClickHouse sorts, partitions or expires by are fixed at
 * acceptance, so that a retried delivery produces the same row.
 *
 * Strings marked *latin1* hold one byte per character, as Node returns headers and targets: `Buffer.from(s, 'latin1')` gives the
 * bytes on the wire. All others are UTF-8 text.
 */
export interface LogRow {
  /** UUIDv7, created at acceptance. Contains the time at which the request head was received. */
  readonly id: string;
  /**
   * Version 1 contains only the request, because no response was recorded. Version 2 contains the complete exchange. Readers use
   * the highest version of an id.
   */
  readonly version: 1 | 2;
  /** When the request head was fully received, in microseconds since the epoch. */
  readonly receivedAtUs: number;
  /** Seconds since the epoch: `receivedAt` plus the project's retention at acceptance. */
  readonly expiresAtS: number;

  readonly namespace: string;
  readonly account: string;
  readonly accountUid: string;
  readonly project: string;
  readonly projectUid: string;
  readonly endpoint: string;
  readonly endpointUid: string;
  /** Generation of the endpoint that handled the request. */
  readonly endpointGeneration: number;
  /** The name of the gateway, which is its pod name in a cluster. */
  readonly gateway: string;
  readonly action: Action;
  readonly outcome: Outcome;

  /** Address of the TCP peer. */
  readonly clientAddress: string;
  /** Empty if the credential is a signature. */
  readonly keyFingerprint: string;

  readonly method: Method;
  /** latin1. As received, for example `/PROJECT-URI/v1/orders?a=1`. */
  readonly target: string;
  /** latin1. The part of the target's path after the project URI, for example `/v1/orders`. */
  readonly path: string;
  /** latin1. The part of the target after the first `?`. Empty if there is no `?`. */
  readonly query: string;
  /** `1.1` or `1.0`. */
  readonly httpVersion: string;
  /** latin1, in wire order; the value of `x-api-key` is replaced with `sha256:FINGERPRINT`. */
  readonly requestHeaders: readonly HeaderPair[];
  /** latin1. */
  readonly requestTrailers: readonly HeaderPair[];
  readonly requestBody: Uint8Array;

  /** 0 if no response was recorded (version 1). */
  readonly status: number;
  /** latin1, in the order sent. */
  readonly responseHeaders: readonly HeaderPair[];
  /** latin1. */
  readonly responseTrailers: readonly HeaderPair[];
  /** The first bytes, up to the gateway's limit (`LIMITS.responseCaptureBytesMax` by default). */
  readonly responseBody: Uint8Array;
  /** The full size of the response body in bytes. */
  readonly responseBodyBytes: number;
  readonly responseTruncated: boolean;

  /** For forwarded requests, the requested URL with its query. Otherwise empty. */
  readonly upstreamUrl: string;
  /** For forwarded requests, the reason why there is no complete response. Otherwise empty. */
  readonly upstreamError: string;

  /**
   * Microseconds from the arrival of the head until this row was built, plus the delay of the response. The gateway then sends the
   * end of the response.
   */
  readonly durationUs: number;
  /** Microseconds from the arrival of the head to the end of the request. */
  readonly requestUs: number;
  /** Microseconds from the call to the upstream until the head of its response arrived. 0 if there was no call or no head. */
  readonly upstreamFirstByteUs: number;

  /**
   * The month whose quota the request counts against, such as `2026-11`. The block determines the month, regardless of the clock.
   * Empty if the account has no quota.
   */
  readonly quotaPeriod: string;
  /** The block of permits that admitted the request. Empty if the account has no quota. */
  readonly quotaBlock: string;
  /**
   * The number of the permit, which is unique within the block. 0 if the account has no quota. The permits of requests that could
   * not be stored do not appear in the log.
   */
  readonly quotaPermit: number;

  /** The name of the item of `spec.responses` that responded. Empty if the endpoint's action responded. */
  readonly response: string;
  /** The planned delay of the response in microseconds. 0 if there is none. */
  readonly delayUs: number;
  /** The reason why a template of the response could not be rendered. Otherwise empty. Can quote values of the request. */
  readonly templateError: string;
  /** What authenticated the request. */
  readonly credential: Credential;
  /**
   * latin1. The id that the provider gives the delivery, which repeats if the provider sends the delivery again. Empty if the scheme
   * has none, or if the credential is a key.
   */
  readonly deliveryId: string;
}

/**
 * Returns the part of a key's SHA-256 that may be shown. The first 8 hex digits are enough to tell two keys apart, and do not
 * reveal a long, random key.
 */
export const keyFingerprint = (keySha256: string): string => keySha256.slice(0, 8);
