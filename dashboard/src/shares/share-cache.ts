import { WorkRefused } from '../workers/work-refused.ts';
import type { SharedExchange } from '../captured/shared-exchange.ts';

export interface ShareCacheOptions {
  /** Maximum total size of the cached text. */
  readonly bytesMax?: number;
  readonly linksMax?: number;
  /** Maximum number of exchanges being created at the same time. Each reads up to 20 MiB from the log. */
  readonly makingMax?: number;
}

interface Kept {
  /** Identifies the Share, its spec and the row. If one of the three differs, the cached value is out of date. */
  readonly identity: string;
  readonly exchange: Promise<SharedExchange | undefined>;
  /** Undefined while the value is being created. */
  bytes?: number;
}

const BYTES_MAX = 64 * 1024 * 1024;
const LINKS_MAX = 1_000;
const MAKING_MAX = 4;
const BYTES_PER_CHAR = 2;

const bytesOf = ({ target, request, response }: SharedExchange): number =>
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
  readonly #options: Required<ShareCacheOptions>;
  /** Ordered by last use, oldest first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #making = 0;

  constructor({ bytesMax = BYTES_MAX, linksMax = LINKS_MAX, makingMax = MAKING_MAX }: ShareCacheOptions = {}) {
    this.#options = { bytesMax, linksMax, makingMax };
  }

  isReady(tokenSha256: string, identity: string): boolean {
    const known = this.#kept.get(tokenSha256);
    return known?.identity === identity && known.bytes !== undefined;
  }

  /**
   * Returns the cached value, or the result of `make`. Rejects if `make` does, or with `WorkRefused` if too many values are being
   * created.
   */
  async get(
    tokenSha256: string,
    identity: string,
    make: () => Promise<SharedExchange | undefined>,
  ): Promise<SharedExchange | undefined> {
    const known = this.#kept.get(tokenSha256);
    if (known?.identity === identity) {
      this.#kept.delete(tokenSha256);
      this.#kept.set(tokenSha256, known);
      return known.exchange;
    }
    this.drop(tokenSha256);
    if (this.#making >= this.#options.makingMax) throw new WorkRefused('Busy');
    this.#making += 1;
    const kept: Kept = { identity, exchange: make() };
    this.#kept.set(tokenSha256, kept);
    try {
      const exchange = await kept.exchange;
      this.#settle(tokenSha256, kept, exchange && bytesOf(exchange));
      return exchange;
    } catch (error) {
      // Work that took too much time or memory would fail again, so it is rejected until the entry is removed.
      const isFinal = error instanceof WorkRefused && error.reason !== 'Busy';
      this.#settle(tokenSha256, kept, isFinal ? 0 : undefined);
      throw error;
    } finally {
      this.#making -= 1;
    }
  }

  /** Removes a value, for example because its link no longer works. */
  drop(tokenSha256: string): void {
    this.#bytes -= this.#kept.get(tokenSha256)?.bytes ?? 0;
    this.#kept.delete(tokenSha256);
  }

  /** Records the size of a created value, and evicts old values. If `bytes` is undefined, removes the value instead. */
  #settle(tokenSha256: string, kept: Kept, bytes: number | undefined): void {
    if (this.#kept.get(tokenSha256) !== kept) return;
    if (bytes === undefined) {
      this.#kept.delete(tokenSha256);
      return;
    }
    kept.bytes = bytes;
    this.#bytes += bytes;
    for (const [oldest, { bytes: size }] of this.#kept) {
      if (this.#bytes <= this.#options.bytesMax && this.#kept.size <= this.#options.linksMax) return;
      if (size !== undefined) this.drop(oldest);
    }
  }
}
