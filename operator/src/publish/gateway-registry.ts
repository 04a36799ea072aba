import {
  compareRevisions,
  LIMITS,
  parseRevision,
  type Ack,
  type ConfigKey,
  type RejectedObject,
  type Revision,
} from '@standin/contract';

/** One process of a gateway, or the name of one that the leader before knew. */
interface Gateway {
  readonly name: string;
  /** Undefined: known by its name only, until a process of that name is heard. */
  readonly instance: string | undefined;
  /** Undefined: it has acknowledged nothing in this term. */
  acked: Revision | undefined;
  rejected: ReadonlyMap<ConfigKey, string>;
  /** Its open streams, each as a way to end it. More than one, for a moment, when it comes back before the old one is gone. */
  readonly streams: Set<() => void>;
  /** While a stream is open: cuts it off when nothing is heard. While none is: forgets it. */
  timer: NodeJS.Timeout | undefined;
}

/** What the gateways say about one object. */
export type ProgrammedState =
  | { readonly kind: 'programmed' }
  | { readonly kind: 'no-gateway' }
  | {
      readonly kind: 'waiting';
      readonly gateways: readonly string[];
      readonly known: number;
      /** Of those that are waited for, none has been heard in this term: they may well have it since before. */
      readonly unheard: boolean;
    }
  | { readonly kind: 'rejected'; readonly gateway: string; readonly message: string };

export interface GatewayRegistryOptions {
  readonly epoch: number;
  readonly forgetMs: number;
  /** Called with the names of all known gateways when one joins or is forgotten. */
  readonly onKnown: (names: readonly string[]) => void;
  /** Called when `floor` may have changed, and with the keys of objects that are newly rejected, or not any more. */
  readonly onProgress: (keys: readonly ConfigKey[]) => void;
}

/** A gateway takes its time for a large snapshot, but not more than this. */
const SNAPSHOT_MS_MAX = 60_000;

/**
 * Which gateway holds which revision, for one leader's term. A gateway is known from its first acknowledgement (before that it is
 * not ready and serves nobody, so it un-programs nothing) until it says goodbye or its stream is gone for `forgetMs`.
 *
 * A gateway acknowledges every heartbeat. One that is silent is cut off, so that a lost node or a frozen process, whose
 * connection looks open for a quarter of an hour, is forgotten like any other.
 */
export class GatewayRegistry {
  readonly #options: GatewayRegistryOptions;
  /** By name and instance. */
  readonly #gateways = new Map<string, Gateway>();

  constructor(options: GatewayRegistryOptions) {
    this.#options = options;
  }

  /**
   * Waits for gateways that the leader before knew, as if their streams had just ended: nothing is programmed before they have
   * acknowledged it, too, or are forgotten.
   */
  expect(names: readonly string[]): void {
    for (const name of names) {
      if (this.#gateways.has(keyOf(name, undefined))) continue;
      this.#forgetLater(this.#add(name, undefined));
    }
  }

  /** Those that are known. */
  get gateways(): readonly { name: string; acked: Revision; connected: boolean }[] {
    const { epoch } = this.#options;
    return this.#known().map(({ name, acked = { epoch, number: 0 }, streams }) => {
      return { name, acked, connected: streams.size > 0 };
    });
  }

  /** Number of the revision that every known gateway holds; undefined when none is known. */
  get floor(): number | undefined {
    const known = this.#known();
    return known.length === 0 ? undefined : Math.min(...known.map(numberOf));
  }

  /**
   * A stream was opened; `cut` ends it. Returns what is to be called when it has ended. A new instance of a name takes the place of a
   * predecessor that has no stream any more, and counts from its first acknowledgement.
   */
  connected(name: string, instance: string, cut: () => void): () => void {
    const key = keyOf(name, instance);
    const gateway = this.#gateways.get(key) ?? this.#add(name, instance);
    gateway.streams.add(cut);
    this.#cutLater(gateway, SNAPSHOT_MS_MAX);
    for (const other of [...this.#gateways.values()]) {
      const isPredecessor = other.name === name && other.instance !== undefined && other.streams.size === 0;
      if (isPredecessor) this.#forget(other);
    }
    return () => {
      gateway.streams.delete(cut);
      if (gateway.streams.size > 0 || this.#gateways.get(key) !== gateway) return;
      if (isKnown(gateway)) this.#forgetLater(gateway);
      else this.#forget(gateway);
    };
  }

  /** The gateway shut down in an orderly way. */
  goodbye(name: string, instance: string): void {
    const gateway = this.#gateways.get(keyOf(name, instance));
    if (gateway !== undefined) this.#forget(gateway);
  }

  /** Returns false when the acknowledgement is of another term, or of a gateway without a stream: it has to connect. */
  ack(ack: Ack): boolean {
    const revision = parseRevision(ack.revision);
    const gateway = this.#gateways.get(keyOf(ack.gateway, ack.instance));
    if (revision.epoch !== this.#options.epoch || gateway === undefined || gateway.streams.size === 0) return false;
    this.#cutLater(gateway, LIMITS.streamSilenceMsMax);
    const { acked, rejected: before } = gateway;
    const order = acked === undefined ? 1 : compareRevisions(revision, acked);
    if (order < 0) return true;
    gateway.acked = revision;
    gateway.rejected = messagesOf(ack.rejected);
    if (acked === undefined) this.#joined(gateway);
    const keys = differingKeys(before, gateway.rejected);
    if (order > 0 || keys.length > 0) this.#options.onProgress(keys);
    return true;
  }

  /** What the gateways say about an object that revision `since` put. */
  programmed(key: ConfigKey, since: number): ProgrammedState {
    const known = this.#known();
    if (known.length === 0) return { kind: 'no-gateway' };
    for (const { name, rejected } of known) {
      const message = rejected.get(key);
      if (message !== undefined) return { kind: 'rejected', gateway: name, message };
    }
    const waiting = known.filter((gateway) => numberOf(gateway) < since);
    if (waiting.length === 0) return { kind: 'programmed' };
    return {
      kind: 'waiting',
      gateways: namesOf(waiting),
      known: known.length,
      unheard: waiting.every(({ acked }) => acked === undefined),
    };
  }

  close(): void {
    for (const { timer } of this.#gateways.values()) clearTimeout(timer);
    this.#gateways.clear();
  }

  #known(): readonly Gateway[] {
    return [...this.#gateways.values()].filter(isKnown);
  }

  #add(name: string, instance: string | undefined): Gateway {
    const streams = new Set<() => void>();
    const gateway = { name, instance, acked: undefined, rejected: new Map(), streams, timer: undefined };
    this.#gateways.set(keyOf(name, instance), gateway);
    return gateway;
  }

  /** It is known from now on, and no more expected. */
  #joined({ name }: Gateway): void {
    const expected = this.#gateways.get(keyOf(name, undefined));
    if (expected === undefined) this.#tellKnown();
    else this.#drop(expected);
  }

  #cutLater(gateway: Gateway, ms: number): void {
    clearTimeout(gateway.timer);
    gateway.timer = setTimeout(() => {
      for (const cut of gateway.streams) cut();
    }, ms).unref();
  }

  #forgetLater(gateway: Gateway): void {
    clearTimeout(gateway.timer);
    gateway.timer = setTimeout(() => this.#forget(gateway), this.#options.forgetMs).unref();
  }

  #forget(gateway: Gateway): void {
    this.#drop(gateway);
    if (!isKnown(gateway)) return;
    this.#tellKnown();
    this.#options.onProgress([...gateway.rejected.keys()]);
  }

  #drop(gateway: Gateway): void {
    clearTimeout(gateway.timer);
    this.#gateways.delete(keyOf(gateway.name, gateway.instance));
  }

  #tellKnown(): void {
    this.#options.onKnown(namesOf(this.#known()));
  }
}

const keyOf = (name: string, instance: string | undefined): string => `${name} ${instance ?? ''}`;

const isKnown = ({ acked, instance }: Gateway): boolean => acked !== undefined || instance === undefined;

const numberOf = ({ acked }: Gateway): number => acked?.number ?? 0;

const namesOf = (gateways: readonly Gateway[]): readonly string[] =>
  [...new Set(gateways.map(({ name }) => name))].sort();

const messagesOf = (rejected: readonly RejectedObject[]): ReadonlyMap<ConfigKey, string> =>
  new Map(rejected.map(({ key, message }) => [key, message]));

const differingKeys = (a: ReadonlyMap<ConfigKey, string>, b: ReadonlyMap<ConfigKey, string>): ConfigKey[] =>
  [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key));
