import { compareRevisions, parseRevision, type Ack, type ConfigKey, type Revision } from '@standin/contract';

interface KnownGateway {
  readonly name: string;
  readonly instance: string;
  acked: Revision;
  rejected: ReadonlyMap<ConfigKey, string>;
  /** Set while no stream of it is open; it is forgotten when this passes. */
  forgetTimer: NodeJS.Timeout | undefined;
}

/** What the gateways say about one object. */
export type ProgrammedState =
  | { readonly kind: 'programmed' }
  /** No gateway has acknowledged anything yet. */
  | { readonly kind: 'no-gateway' }
  | { readonly kind: 'waiting'; readonly gateways: readonly string[]; readonly known: number }
  | { readonly kind: 'rejected'; readonly gateway: string; readonly message: string };

export interface GatewayRegistryOptions {
  readonly epoch: number;
  readonly forgetMs: number;
  /** Called with the names of all known gateways when one joins or is forgotten. */
  readonly onKnown: (names: readonly string[]) => void;
  /** Called when what `programmed()` says may have changed for objects up to that revision, or for the keys named. */
  readonly onProgress: (progress: { readonly upTo: number; readonly keys: readonly ConfigKey[] }) => void;
}

/**
 * Which gateway holds which revision, for one leader's term. A gateway is known from its first acknowledgement (before that it is
 * not ready and serves nobody, so it un-programs nothing) until it says goodbye or its stream is gone for `forgetMs`.
 */
export class GatewayRegistry {
  readonly #options: GatewayRegistryOptions;
  readonly #known = new Map<string, KnownGateway>();

  constructor(options: GatewayRegistryOptions) {
    this.#options = options;
  }

  /**
   * Waits for gateways that the leader before knew, as if their streams had just ended: nothing is programmed before they have
   * acknowledged it, too, or are forgotten.
   */
  expect(names: readonly string[]): void {
    for (const name of names) {
      if (this.#known.has(name)) continue;
      const acked = { epoch: this.#options.epoch, number: 0 };
      const gateway: KnownGateway = { name, instance: '', acked, rejected: new Map(), forgetTimer: undefined };
      this.#known.set(name, gateway);
      this.#forgetLater(gateway);
    }
  }

  get gateways(): readonly { name: string; instance: string; acked: Revision; connected: boolean }[] {
    return [...this.#known.values()].map(({ name, instance, acked, forgetTimer }) => {
      return { name, instance, acked, connected: forgetTimer === undefined };
    });
  }

  /** A stream was opened. A new instance of a name takes its predecessor's place, and counts from its first acknowledgement. */
  connected(name: string, instance: string): void {
    const gateway = this.#known.get(name);
    if (gateway === undefined) return;
    // One that the leader before knew stays known until it has acknowledged something here.
    if (gateway.instance === '') return;
    if (gateway.instance !== instance) this.#forget(gateway);
    else {
      clearTimeout(gateway.forgetTimer);
      gateway.forgetTimer = undefined;
    }
  }

  disconnected(name: string, instance: string): void {
    const gateway = this.#known.get(name);
    if (gateway?.instance !== instance || gateway.forgetTimer !== undefined) return;
    this.#forgetLater(gateway);
  }

  /** The gateway shut down in an orderly way. */
  goodbye(name: string, instance: string): void {
    const gateway = this.#known.get(name);
    if (gateway?.instance === instance) this.#forget(gateway);
  }

  /** Returns false when the acknowledgement is of another term. */
  ack(ack: Ack): boolean {
    const revision = parseRevision(ack.revision);
    if (revision.epoch !== this.#options.epoch) return false;
    const rejected = new Map(ack.rejected.map(({ key, message }) => [key, message]));
    const gateway = this.#known.get(ack.gateway);
    const before = gateway?.rejected ?? new Map<ConfigKey, string>();
    if (gateway?.instance === ack.instance) {
      if (compareRevisions(revision, gateway.acked) < 0) return true;
      gateway.acked = revision;
      gateway.rejected = rejected;
    } else {
      if (gateway !== undefined) clearTimeout(gateway.forgetTimer);
      const { gateway: name, instance } = ack;
      this.#known.set(name, { name, instance, acked: revision, rejected, forgetTimer: undefined });
      if (gateway === undefined) this.#tellKnown();
    }
    const keys = [...new Set([...before.keys(), ...rejected.keys()])].filter(
      (key) => before.get(key) !== rejected.get(key),
    );
    this.#options.onProgress({ upTo: this.#floor(), keys });
    return true;
  }

  /** What the gateways say about an object that revision `since` put. */
  programmed(key: ConfigKey, since: number): ProgrammedState {
    if (this.#known.size === 0) return { kind: 'no-gateway' };
    const waiting: string[] = [];
    for (const { name, acked, rejected } of this.#known.values()) {
      const message = rejected.get(key);
      if (message !== undefined) return { kind: 'rejected', gateway: name, message };
      if (acked.number < since) waiting.push(name);
    }
    return waiting.length === 0
      ? { kind: 'programmed' }
      : { kind: 'waiting', gateways: waiting.sort(), known: this.#known.size };
  }

  close(): void {
    for (const { forgetTimer } of this.#known.values()) clearTimeout(forgetTimer);
    this.#known.clear();
  }

  /** The revision number that every known gateway holds. */
  #floor(): number {
    return Math.min(...[...this.#known.values()].map(({ acked }) => acked.number));
  }

  #forgetLater(gateway: KnownGateway): void {
    gateway.forgetTimer = setTimeout(() => this.#forget(gateway), this.#options.forgetMs).unref();
  }

  #tellKnown(): void {
    this.#options.onKnown([...this.#known.keys()].sort());
  }

  #forget(gateway: KnownGateway): void {
    clearTimeout(gateway.forgetTimer);
    this.#known.delete(gateway.name);
    this.#tellKnown();
    const upTo = this.#known.size === 0 ? 0 : this.#floor();
    this.#options.onProgress({ upTo, keys: [...gateway.rejected.keys()] });
  }
}
