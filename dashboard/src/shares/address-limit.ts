import { clientNetwork } from '../client-address.ts';

export interface AddressLimitOptions {
  /** Number of requests that an idle address may send at once. */
  readonly burst: number;
  readonly perSecond: number;
  /** Maximum number of remembered addresses. When it is exceeded, the address that has been idle longest is forgotten. */
  readonly addressesMax: number;
}

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

/** One token bucket per address or IPv6 network, in bounded memory. */
export class AddressLimit {
  readonly #options: AddressLimitOptions;
  /** Ordered by last request, oldest first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: AddressLimitOptions) {
    this.#options = options;
  }

  /**
   * Returns the milliseconds until the address may send its next request, or 0 if it may send one now. Does not count a request.
   *
   * @param now milliseconds of a monotonic clock
   */
  waitMs(address: string, now: number): number {
    const tokens = this.#tokens(clientNetwork(address), now);
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / this.#options.perSecond) * 1_000);
  }

  /** Like `waitMs`, but counts the request if the address may send it now. */
  take(address: string, now: number): number {
    const waitMs = this.waitMs(address, now);
    const network = clientNetwork(address);
    const tokens = this.#tokens(network, now);
    this.#buckets.delete(network);
    this.#buckets.set(network, { tokens: waitMs === 0 ? tokens - 1 : tokens, at: now });
    if (this.#buckets.size > this.#options.addressesMax) {
      const [oldest = ''] = this.#buckets.keys();
      this.#buckets.delete(oldest);
    }
    return waitMs;
  }

  #tokens(network: string, now: number): number {
    const { burst, perSecond } = this.#options;
    const bucket = this.#buckets.get(network) ?? { tokens: burst, at: now };
    return Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
  }
}
