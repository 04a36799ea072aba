import type { Action, Method } from './api-group.ts';
import type { HeaderPair } from './config-objects.ts';

/** How an accepted request ended. */
export const OUTCOMES = [
  /** Answered with the endpoint's mock. */
  'mocked',
  /** Answered with the upstream's answer, whole. */
  'forwarded',
  /** 502: the upstream could not be reached, refused by the address policy, or broke off. */
  'upstream_failed',
  /** 504: the upstream took longer than the endpoint's timeout. */
  'upstream_timeout',
  /** Accepted, sent upstream perhaps; the process ended before an answer was recorded. */
  'response_unknown',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * One accepted request: a row of the table `log`. Ids and everything that ClickHouse sorts, partitions or expires by are
 * fixed at acceptance, so that a retried delivery lands on the same row.
 *
 * Strings marked *latin1* hold one byte per character (as Node gives headers and targets): `Buffer.from(s, 'latin1')` is
 * what was on the wire. All others are UTF-8 text.
 */
export interface LogRow {
  /** UUIDv7, made at acceptance. */
  readonly id: string;
  /** 1: the request alone (its answer never came). 2: the whole exchange. The higher version of an id is the one read. */
  readonly version: 1 | 2;
  /** Microseconds since the epoch, when the head had arrived. */
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
  /** The endpoint's generation that answered. */
  readonly endpointGeneration: number;
  /** Name of the gateway (its pod). */
  readonly gateway: string;
  readonly action: Action;
  readonly outcome: Outcome;

  /** Address of the peer of the TCP connection. */
  readonly clientAddress: string;
  readonly keyFingerprint: string;

  readonly method: Method;
  /** latin1. As received: `/PROJECT-URI/v1/orders?a=1`. */
  readonly target: string;
  /** latin1. The target's path after the project URI: `/v1/orders`. */
  readonly path: string;
  /** latin1. What follows the first `?`, without it; empty if there is none. */
  readonly query: string;
  /** `1.1` or `1.0`. */
  readonly httpVersion: string;
  /** latin1, in wire order; the value of `x-api-key` is replaced with `sha256:FINGERPRINT`. */
  readonly requestHeaders: readonly HeaderPair[];
  /** latin1. */
  readonly requestTrailers: readonly HeaderPair[];
  readonly requestBody: Uint8Array;

  /** 0 when no answer was recorded (version 1). */
  readonly status: number;
  /** latin1, in the order sent. */
  readonly responseHeaders: readonly HeaderPair[];
  /** latin1. */
  readonly responseTrailers: readonly HeaderPair[];
  /** At most `responseCaptureBytesMax` bytes. */
  readonly responseBody: Uint8Array;
  /** The answer's true size in bytes. */
  readonly responseBodyBytes: number;
  readonly responseTruncated: boolean;

  /** Forward: the URL that was asked, with its query; else empty. */
  readonly upstreamUrl: string;
  /** Forward: why there is no whole answer; else empty. */
  readonly upstreamError: string;

  /** From the head's arrival to the last byte of the answer, microseconds. */
  readonly durationUs: number;
  /** Head's arrival to the whole request received, microseconds. */
  readonly requestUs: number;
  /** Forward: from dialling to the first byte of the answer, microseconds; else 0. */
  readonly upstreamFirstByteUs: number;

  /** The month whose quota it counts against, `2026-11`: that of its block, whatever the clock says. Empty: the account has no quota. */
  readonly quotaPeriod: string;
  /** The block of permits that it was admitted by; else empty. */
  readonly quotaBlock: string;
  /** Number of its permit, its own within the block; else 0. Numbers of requests that could not be stored are left out. */
  readonly quotaPermit: number;
}

/** What is shown of a key: enough to tell two apart, not enough to guess a weak one (8 hex digits of its SHA-256). */
export const keyFingerprint = (keySha256: string): string => keySha256.slice(0, 8);
