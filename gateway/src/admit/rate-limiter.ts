import type { AccountConfig } from '@standin/contract';
import { Refusal } from '../request/refusal.ts';

/** The requests that an account, or all accounts of a namespace, may still send. */
interface Bucket {
  requestsPerSecond: number;
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
 * seconds, it admits at most (N + 1) times the limit. All accounts of a namespace together get the highest limit of those that are in
 * use, because its owner can create any number of them. Only accounts of the configuration get a bucket, and full buckets are removed
 * every `SWEEP_MS`.
 */
export class RateLimiter {
  readonly #accounts = new Map<string, Bucket>();
  readonly #namespaces = new Map<string, Bucket>();
  readonly #uptime: () => number;
  #sweptMs = 0;

  /** @param uptime returns milliseconds that never decrease */
  constructor(uptime: () => number = () => performance.now()) {
    this.#uptime = uptime;
  }

  /** The number of buckets. */
  get size(): number {
    return this.#accounts.size + this.#namespaces.size;
  }

  /** Takes a token for a request of the account. Returns a refusal if there is none. */
  admit({ uid, namespace, requestsPerSecond }: AccountConfig): Refusal | undefined {
    if (requestsPerSecond === undefined) return undefined;
    const nowMs = this.#uptime();
    if (nowMs - this.#sweptMs >= SWEEP_MS) this.#sweep(nowMs);
    const account = findOrAddBucket(this.#accounts, uid, { requestsPerSecond, nowMs });
    account.requestsPerSecond = requestsPerSecond;
    const all = findOrAddBucket(this.#namespaces, namespace, { requestsPerSecond, nowMs });
    all.requestsPerSecond = Math.max(all.requestsPerSecond, requestsPerSecond);
    for (const bucket of [account, all]) {
      refill(bucket, nowMs);
      if (bucket.tokens < 1) return rateLimited(bucket.requestsPerSecond);
    }
    account.tokens -= 1;
    all.tokens -= 1;
    return undefined;
  }

  #sweep(nowMs: number): void {
    this.#sweptMs = nowMs;
    for (const buckets of [this.#accounts, this.#namespaces])
      for (const [key, { atMs }] of buckets) if (nowMs - atMs >= FULL_AFTER_MS) buckets.delete(key);
  }
}

const findOrAddBucket = (
  buckets: Map<string, Bucket>,
  key: string,
  { requestsPerSecond, nowMs }: { readonly requestsPerSecond: number; readonly nowMs: number },
): Bucket => {
  const known = buckets.get(key);
  if (known !== undefined) return known;
  const bucket = { requestsPerSecond, tokens: requestsPerSecond, atMs: nowMs };
  buckets.set(key, bucket);
  return bucket;
};

const refill = (bucket: Bucket, nowMs: number): void => {
  const refilled = bucket.tokens + ((nowMs - bucket.atMs) * bucket.requestsPerSecond) / 1_000;
  bucket.tokens = Math.min(bucket.requestsPerSecond, refilled);
  bucket.atMs = nowMs;
};

/** With a limit of at least one request per second, there is another token within a second. */
const rateLimited = (limit: number): Refusal =>
  new Refusal('rate_limited', { headers: [['retry-after', '1']], members: { limit } });
