export interface AddressLimitOptions {
  /** At once. */
  readonly burst: number;
  readonly perSecond: number;
  /** Addresses that are remembered; past it the one that was silent for longest is forgotten. */
  readonly addressesMax: number;
}

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

/** A provider gives a whole /64 to one household. */
const networkOf = (address: string): string => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '');
  return plain.includes(':') ? plain.split(':').slice(0, 4).join(':') : plain;
};

/** A token bucket for each address, in bounded memory. */
export class AddressLimit {
  readonly #options: AddressLimitOptions;
  /** In the order of their last request. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: AddressLimitOptions) {
    this.#options = options;
  }

  /**
   * Milliseconds until the address may come again; 0: it may now, and this counts.
   *
   * @param now milliseconds of a clock that never goes back
   */
  take(address: string, now: number): number {
    const { burst, perSecond, addressesMax } = this.#options;
    const network = networkOf(address);
    const bucket = this.#buckets.get(network) ?? { tokens: burst, at: now };
    const tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
    const isFree = tokens >= 1;
    this.#buckets.delete(network);
    this.#buckets.set(network, { tokens: isFree ? tokens - 1 : tokens, at: now });
    if (this.#buckets.size > addressesMax) {
      const [oldest = ''] = this.#buckets.keys();
      this.#buckets.delete(oldest);
    }
    return isFree ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1_000);
  }
}
