import { SharedPool } from '@standin/contract';
import type { Pools } from '../pools.ts';
import { WorkRefused } from '../workers/work-refused.ts';
import type { SharedExchange } from '../captured/shared-exchange.ts';

export interface ShareCacheOptions {
  /** Maximum total size of the cached text. */
  readonly bytesMax?: number;
  readonly linksMax?: number;
  /** Maximum number of exchanges being created at the same time. Each reads up to 20 MiB from the log. */
  readonly makingMax?: number;
  /** Maximum number of calls that wait for an exchange. */
  readonly waitingMax?: number;
  readonly pools?: Pools | undefined;
}

/** What a link shows now. */
export interface CachedLink {
  readonly tokenSha256: string;
  /** Identifies the Share, its spec and the row. If one of the three differs, the cached value is out of date. */
  readonly identity: string;
  /** The namespace of the Share, which has shares of the exchanges being created and of the waiting calls. */
  readonly namespace: string;
}

interface Kept {
  readonly identity: string;
  readonly namespace: string;
  readonly exchange: Promise<SharedExchange | undefined>;
  /** Undefined while the value is being created. */
  bytes?: number;
}

const BYTES_MAX = 64 * 1024 * 1024;
const LINKS_MAX = 1_000;
const MAKING_MAX = 4;
/** Many people may open the same link at once. */
const WAITING_MAX = 64;
const BYTES_PER_CHAR = 2;

const exchangeBytes = ({ target, request, response }: SharedExchange): number =>
  BYTES_PER_CHAR *
  [request, response].reduce(
    (sum, { body, headers, trailers }) =>
      sum +
      body.length +
      [...headers, ...trailers].reduce((size, [name, value]) => size + name.length + value.length, 0),
    target.length,
  );

/**
 * Caches what links show, by token hash. If a link is opened repeatedly or concurrently, its exchange is redacted only once. The
 * cache does not decide whether a link works, which is checked every time.
 */
export class ShareCache {
  readonly #bytesMax: number;
  readonly #linksMax: number;
  readonly #making: SharedPool;
  readonly #waiting: SharedPool;
  /** Ordered by last use, oldest first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(options: ShareCacheOptions = {}) {
    this.#bytesMax = options.bytesMax ?? BYTES_MAX;
    this.#linksMax = options.linksMax ?? LINKS_MAX;
    this.#making = new SharedPool(options.makingMax ?? MAKING_MAX);
    this.#waiting = new SharedPool(options.waitingMax ?? WAITING_MAX);
    options.pools?.set('link_exchanges', this.#making).set('link_openings', this.#waiting);
  }

  isReady({ tokenSha256, identity }: CachedLink): boolean {
    const known = this.#kept.get(tokenSha256);
    return known?.identity === identity && known.bytes !== undefined;
  }

  /**
   * Returns the cached value, or the result of `make`. Rejects if `make` does, or with `WorkRefused` if the namespace of the link has
   * used up its shares.
   */
  async get(link: CachedLink, make: () => Promise<SharedExchange | undefined>): Promise<SharedExchange | undefined> {
    const { namespace } = link;
    if (this.isReady(link)) return this.#getOrMake(link, make);
    using place = this.#waiting.hold(namespace);
    if (place === undefined) throw new WorkRefused('Busy');
    return await this.#getOrMake(link, make);
  }

  async #getOrMake(
    { tokenSha256, identity, namespace }: CachedLink,
    make: () => Promise<SharedExchange | undefined>,
  ): Promise<SharedExchange | undefined> {
    const known = this.#kept.get(tokenSha256);
    if (known?.identity === identity) {
      this.#kept.delete(tokenSha256);
      this.#kept.set(tokenSha256, known);
      return known.exchange;
    }
    this.drop(tokenSha256);
    using place = this.#making.hold(namespace);
    if (place === undefined) throw new WorkRefused('Busy');
    const kept: Kept = { identity, namespace, exchange: make() };
    this.#kept.set(tokenSha256, kept);
    try {
      const exchange = await kept.exchange;
      this.#settle(tokenSha256, kept, exchange && exchangeBytes(exchange));
      return exchange;
    } catch (error) {
      // Work that took too much time or memory would fail again, so it is rejected until the entry is removed.
      const isFinal = error instanceof WorkRefused && error.reason !== 'Busy';
      this.#settle(tokenSha256, kept, isFinal ? 0 : undefined);
      throw error;
    }
  }

  /** Removes a value, for example because its link no longer works. */
  drop(tokenSha256: string): void {
    this.#bytes -= this.#kept.get(tokenSha256)?.bytes ?? 0;
    this.#kept.delete(tokenSha256);
  }

  /** Records the size of a created value, and evicts others. If `bytes` is undefined, removes the value instead. */
  #settle(tokenSha256: string, kept: Kept, bytes: number | undefined): void {
    if (this.#kept.get(tokenSha256) !== kept) return;
    if (bytes === undefined) {
      this.#kept.delete(tokenSha256);
      return;
    }
    kept.bytes = bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#bytesMax || this.#kept.size > this.#linksMax) if (!this.#evict()) return;
  }

  /** Removes the least recently used value of the namespace that has the most. Returns false if all are being created. */
  #evict(): boolean {
    const isTooLarge = this.#bytes > this.#bytesMax;
    const amounts = new Map<string, number>();
    for (const { namespace, bytes } of this.#kept.values())
      if (bytes !== undefined) amounts.set(namespace, (amounts.get(namespace) ?? 0) + (isTooLarge ? bytes : 1));
    const largest = Math.max(...amounts.values());
    for (const [token, { namespace, bytes }] of this.#kept) {
      if (bytes === undefined || amounts.get(namespace) !== largest) continue;
      this.drop(token);
      return true;
    }
    return false;
  }
}
