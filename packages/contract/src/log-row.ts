import type { Action, Method } from './api-group.ts';
import type { HeaderPair } from './config-objects.ts';

/** How an accepted request ended. */
export const OUTCOMES = [
  /** Answered with the endpoint's mock. */
  'mocked',
  /** Answered with the complete response of the upstream. */
  'forwarded',
  /** 502: the upstream was unreachable, was refused by the address policy, or broke off its response. */
  'upstream_failed',
  /** 504: the upstream took longer than the endpoint's timeout. */
  'upstream_timeout',
  /** Accepted and perhaps sent upstream, but the process ended before it recorded a response. */
  'response_unknown',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * One accepted request: a row of the table `log`. Ids and everything that ClickHouse sorts, partitions or expires by are fixed at
 * acceptance, so that a retried delivery lands on the same row.
 *
 * Strings marked *latin1* hold one byte per character, as Node returns headers and targets: `Buffer.from(s, 'latin1')` gives the
 * bytes on the wire. All others are UTF-8 text.
 */
export interface LogRow {
  /** UUIDv7, created at acceptance. */
  readonly id: string;
  /** 1: the request alone, because no response was recorded. 2: the whole exchange. Readers use the highest version of an id. */
  readonly version: 1 | 2;
  /** When the head had arrived, microseconds since the epoch. */
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
  /** Name of the gateway (its pod). */
  readonly gateway: string;
  readonly action: Action;
  readonly outcome: Outcome;

  /** Address of the TCP peer. */
  readonly clientAddress: string;
  readonly keyFingerprint: string;

  readonly method: Method;
  /** latin1. As received: `/PROJECT-URI/v1/orders?a=1`. */
  readonly target: string;
  /** latin1. The target's path after the project URI: `/v1/orders`. */
  readonly path: string;
  /** latin1. The part after the first `?`; empty if there is none. */
  readonly query: string;
  /** `1.1` or `1.0`. */
  readonly httpVersion: string;
  /** latin1, in wire order; the value of `x-api-key` is replaced with `sha256:FINGERPRINT`. */
  readonly requestHeaders: readonly HeaderPair[];
  /** latin1. */
  readonly requestTrailers: readonly HeaderPair[];
  readonly requestBody: Uint8Array;

  /** 0 when no response was recorded (version 1). */
  readonly status: number;
  /** latin1, in the order sent. */
  readonly responseHeaders: readonly HeaderPair[];
  /** latin1. */
  readonly responseTrailers: readonly HeaderPair[];
  /** At most `responseCaptureBytesMax` bytes. */
  readonly responseBody: Uint8Array;
  /** True size of the response body in bytes. */
  readonly responseBodyBytes: number;
  readonly responseTruncated: boolean;

  /** Forward: the requested URL, with its query. Otherwise empty. */
  readonly upstreamUrl: string;
  /** Forward: why there is no complete response. Otherwise empty. */
  readonly upstreamError: string;

  /** From the arrival of the head to the last byte of the response, microseconds. */
  readonly durationUs: number;
  /** From the arrival of the head to the end of the request, microseconds. */
  readonly requestUs: number;
  /** Forward: from dialling to the first byte of the response, microseconds. Otherwise 0. */
  readonly upstreamFirstByteUs: number;

  /**
   * The month whose quota the request counts against, `2026-11`. The block decides it, regardless of the clock. Empty: the
   * account has no quota.
   */
  readonly quotaPeriod: string;
  /** The block of permits that admitted the request. Otherwise empty. */
  readonly quotaBlock: string;
  /** Number of the permit, unique within the block. Otherwise 0. Numbers of requests that could not be stored do not appear. */
  readonly quotaPermit: number;
}

/** The part of a key that may be shown: enough to tell two keys apart, not enough to guess a weak one (8 hex digits of its SHA-256). */
export const keyFingerprint = (keySha256: string): string => keySha256.slice(0, 8);
