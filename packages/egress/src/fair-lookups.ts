import { FairQueue } from '@standin/contract';
import { EgressError } from './egress-error.ts';
import type { Lookup, Probe, ResolvedAddress } from './lookup.ts';
import { POOL_THREADS } from './settings.ts';

/** Maximum number of names that are looked up at the same time. libuv uses at most half of its threads for lookups. */
export const LOOKUPS_MAX = Math.ceil(POOL_THREADS / 2);
/** How many of these may be names for which it is not known that a name server responds. */
const UNPROBED_MAX = Math.ceil(LOOKUPS_MAX / 2);
const PROBED_MAX = Math.max(LOOKUPS_MAX - UNPROBED_MAX, 1);
/** Maximum number of names that are probed at the same time, so that probes do not burden the name servers. */
const PROBES_MAX = 32;
/** Maximum number of names that wait for their turn, in each line. One namespace can have half of them. */
const NAMES_MAX = 10_000;
/** After a probe, a lookup takes longer only if its name server does not respond. A resolver waits at least five seconds for one. */
const SLOW_MS = 4_000;
/** After a slow lookup, the probes of a namespace are not trusted for this long. */
const DISTRUST_MS = 10 * 60_000;

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

const newQueue = (runningMax: number): FairQueue =>
  new FairQueue({
    runningMax,
    callsMax: NAMES_MAX,
    refusal: () => new EgressError('upstream_unreachable', 'Too many host names are being looked up. Try again later.'),
  });

/**
 * Looks up names in turns of namespaces, each of which has a share of the lookups. A lookup that has begun cannot be cancelled, and one
 * to a silent name server takes longer than any connection waits for it. Several namespaces with such names could therefore occupy all
 * lookups. So half of the lookups are only for names for which a name server has just responded to a probe, which takes no thread. A name
 * that must wait is probed, and then waits in both lines. Results are neither kept nor shared among namespaces.
 */
export class FairLookups {
  readonly #lookup: Lookup;
  readonly #probe: Probe;
  readonly #pending = new Map<string, PendingLookup>();
  readonly #unprobed = newQueue(UNPROBED_MAX);
  readonly #probes = newQueue(PROBES_MAX);
  readonly #probed = newQueue(PROBED_MAX);
  /** When the probes of a namespace are trusted again (`performance.now()`). */
  readonly #trustedAtMs = new Map<string, number>();

  constructor(lookup: Lookup, probe: Probe) {
    this.#lookup = lookup;
    this.#probe = probe;
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
    const addresses = this.#wait({ hostname, namespace, signal: leave.signal }, lookUp);
    const pending: PendingLookup = { addresses, leave, hasBegun: false, waiting: 0 };
    const remove = (): void => this.#remove(key, pending);
    addresses.then(remove, remove);
    this.#pending.set(key, pending);
    return pending;
  }

  /** Returns the result of the lookup, which begins when it is the name's turn in one of the lines. */
  #wait<T>(
    { hostname, namespace, signal }: LookupOptions & { readonly hostname: string },
    lookUp: () => Promise<T>,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const begun = new AbortController();
    const waiting = AbortSignal.any([signal, begun.signal]);
    const begin = (): Promise<T> => {
      // It was the name's turn in both lines.
      if (begun.signal.aborted) return promise;
      begun.abort();
      const result = lookUp();
      resolve(result);
      return result;
    };
    const beginProbed = (): Promise<T> => {
      const timer = setTimeout(() => this.#trustedAtMs.set(namespace, performance.now() + DISTRUST_MS), SLOW_MS);
      return begin().finally(() => clearTimeout(timer));
    };
    const probe = async (): Promise<void> => {
      const responds = await this.#probes.run(namespace, () => this.#probe(hostname, waiting), waiting);
      if (responds) await this.#probed.run(namespace, beginProbed, waiting);
    };
    const mustWait = !this.#unprobed.hasRoomFor(namespace);
    this.#unprobed.run(namespace, begin, waiting).catch(reject);
    // The name keeps its place in the first line.
    if (mustWait && this.#isTrusted(namespace)) probe().catch(() => undefined);
    return promise;
  }

  #isTrusted(namespace: string): boolean {
    if (performance.now() < (this.#trustedAtMs.get(namespace) ?? 0)) return false;
    this.#trustedAtMs.delete(namespace);
    return true;
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
