import { isIPv6 } from 'node:net';
import { plainAddress } from '../client-address.ts';

export interface AddressLimitOptions {
  /** Requests that are allowed at once. */
  readonly burst: number;
  readonly perSecond: number;
  /** Maximum number of remembered addresses. Above it, the address that was silent for longest is forgotten. */
  readonly addressesMax: number;
}

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

const GROUPS = 8;
/** The first four of the eight groups: 64 bits. */
const NETWORK_GROUPS = 4;

/** A provider assigns a whole /64 to one household. */
const networkOf = (address: string): string => {
  const plain = plainAddress(address).replace(/%.*$/, '');
  if (!isIPv6(plain)) return plain;
  const [before = [], after = []] = plain.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: Math.max(0, GROUPS - before.length - after.length) }, () => '0');
  return [...before, ...zeros, ...after]
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
};

/** One token bucket per address, in bounded memory. */
export class AddressLimit {
  readonly #options: AddressLimitOptions;
  /** In the order of their last request. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: AddressLimitOptions) {
    this.#options = options;
  }

  /**
   * Milliseconds until the address may send the next request. 0: it may send one now. Counts nothing.
   *
   * @param now milliseconds of a clock that never goes back
   */
  waitMs(address: string, now: number): number {
    const tokens = this.#tokens(networkOf(address), now);
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / this.#options.perSecond) * 1_000);
  }

  /** Like `waitMs`, but counts the request if the address may send it now. */
  take(address: string, now: number): number {
    const waitMs = this.waitMs(address, now);
    const network = networkOf(address);
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
