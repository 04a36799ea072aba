import { FairQueue } from '@standin/contract';
import { EgressError } from './egress-error.ts';
import type { Lookup, ResolvedAddress } from './lookup.ts';
import { POOL_THREADS } from './settings.ts';

/** Maximum number of names that are looked up at the same time. libuv uses at most half of its threads for lookups. */
export const LOOKUPS_MAX = Math.ceil(POOL_THREADS / 2);
/** Maximum number of names that are looked up or wait for their turn. One namespace can have half of them. */
const NAMES_MAX = 10_000;

export interface LookupOptions {
  /** The namespace that the name is looked up for, or an empty string. */
  readonly namespace: string;
  /** Aborts when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/** The lookup of a name for all connections of a namespace that need it at the same time. */
interface PendingLookup {
  readonly addresses: Promise<readonly ResolvedAddress[]>;
  /** Takes the lookup out of the line. */
  readonly leave: AbortController;
  hasBegun: boolean;
  /** The number of connections that wait for the result. */
  waiting: number;
}

/**
 * Looks up names in turns of namespaces, each of which has a share of the lookups. A lookup that has begun cannot be cancelled, and one
 * to a silent name server takes longer than any connection waits for it. Results are neither kept nor shared among namespaces.
 */
export class FairLookups {
  readonly #lookup: Lookup;
  readonly #pending = new Map<string, PendingLookup>();
  readonly #queue = new FairQueue({
    runningMax: LOOKUPS_MAX,
    callsMax: NAMES_MAX,
    refusal: () => new EgressError('upstream_unreachable', 'Too many host names are being looked up. Try again later.'),
  });

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  /** Resolves and rejects as `Lookup` does, or rejects with the signal's reason. The lookup may have begun for an earlier call. */
  async lookUp(hostname: string, { namespace, signal }: LookupOptions): Promise<readonly ResolvedAddress[]> {
    signal.throwIfAborted();
    const key = `${namespace}/${hostname}`;
    const pending = this.#pending.get(key) ?? this.#add(key, hostname, namespace);
    pending.waiting += 1;
    try {
      return await unlessAborted(pending.addresses, signal);
    } finally {
      pending.waiting -= 1;
      if (pending.waiting === 0 && !pending.hasBegun) {
        this.#remove(key, pending);
        pending.leave.abort();
      }
    }
  }

  #add(key: string, hostname: string, namespace: string): PendingLookup {
    const leave = new AbortController();
    const lookUp = (): Promise<readonly ResolvedAddress[]> => {
      pending.hasBegun = true;
      return this.#lookup(hostname);
    };
    const addresses = this.#queue.run(namespace, lookUp, leave.signal);
    const pending: PendingLookup = { addresses, leave, hasBegun: false, waiting: 0 };
    const remove = (): void => this.#remove(key, pending);
    addresses.then(remove, remove);
    this.#pending.set(key, pending);
    return pending;
  }

  /** After the lookup was cancelled, the name may have been added again. */
  #remove(key: string, pending: PendingLookup): void {
    if (this.#pending.get(key) === pending) this.#pending.delete(key);
  }
}

const unlessAborted = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    promise.then(resolve, reject);
  });
