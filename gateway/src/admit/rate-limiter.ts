import type { AccountConfig } from '@standin/contract';
import { Refusal } from '../request/refusal.ts';

/** The requests that an account may still send. */
interface Bucket {
  /** At most the limit, so that a burst is at most the requests of one second. */
  tokens: number;
  /** Uptime of the last request. */
  atMs: number;
}

/** A bucket is full after one second without requests, whatever the limit is. A full bucket is the same as none. */
const FULL_AFTER_MS = 1_000;
const SWEEP_MS = 10_000;

/**
 * Limits how many requests per second this gateway accepts from each account, with a token bucket for each account. In any time of N
 * seconds, it admits at most (N + 1) times the limit. Only accounts of the configuration get a bucket, and full buckets are removed
 * every `SWEEP_MS`.
 */
export class RateLimiter {
  readonly #buckets = new Map<string, Bucket>();
  readonly #uptime: () => number;
  #sweptMs = 0;

  /** @param uptime returns milliseconds that never decrease */
  constructor(uptime: () => number = () => performance.now()) {
    this.#uptime = uptime;
  }

  /** The number of buckets. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Takes a token for a request of the account. Returns a refusal if there is none. */
  admit({ uid, requestsPerSecond }: AccountConfig): Refusal | undefined {
    if (requestsPerSecond === undefined) return undefined;
    const nowMs = this.#uptime();
    if (nowMs - this.#sweptMs >= SWEEP_MS) this.#sweep(nowMs);
    let bucket = this.#buckets.get(uid);
    if (bucket === undefined) {
      bucket = { tokens: requestsPerSecond, atMs: nowMs };
      this.#buckets.set(uid, bucket);
    }
    const refilled = bucket.tokens + ((nowMs - bucket.atMs) * requestsPerSecond) / 1_000;
    bucket.tokens = Math.min(requestsPerSecond, refilled);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) return refusalOf(requestsPerSecond);
    bucket.tokens -= 1;
    return undefined;
  }

  #sweep(nowMs: number): void {
    this.#sweptMs = nowMs;
    for (const [uid, { atMs }] of this.#buckets) if (nowMs - atMs >= FULL_AFTER_MS) this.#buckets.delete(uid);
  }
}

/** With a limit of at least one request per second, there is another token within a second. */
const refusalOf = (limit: number): Refusal =>
  new Refusal('rate_limited', { headers: [['retry-after', '1']], members: { limit } });
