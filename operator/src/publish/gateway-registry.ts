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
  /** Undefined: it has acknowledged nothing in this term; it may answer callers all the same. */
  acked: Revision | undefined;
  rejected: ReadonlyMap<ConfigKey, string>;
  /** Its open streams, each as a way to end it. More than one, for a moment, when it comes back before the old one is gone. */
  readonly streams: Set<() => void>;
  /** While a stream is open: cuts it off when nothing is heard. While none is: forgets it, unless `expiry` does. */
  timer: NodeJS.Timeout | undefined;
  /** See `KnownGateway`. */
  maxStalenessMs: number;
  /** With a `maxStalenessMs`: when that has passed, it answers nobody, and is not waited for until it acknowledges anew. */
  expiry: NodeJS.Timeout | undefined;
}

/** What the next leader has to know of a gateway. */
export interface KnownGateway {
  readonly name: string;
  /** So long after the last word it answers nobody; 0: it goes on with what it has. */
  readonly maxStalenessMs: number;
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
  /** Called with all gateways that may answer, or are about to, when one connects or is forgotten. */
  readonly onKnown: (gateways: readonly KnownGateway[]) => void;
  /** Called with the name of a gateway that is forgotten and may still answer: it has no `maxStalenessMs`, and said no goodbye. */
  readonly onLost?: (name: string) => void;
  /** Called when `floor` may have changed, and with the keys of objects that are newly rejected, or not any more. */
  readonly onProgress: (keys: readonly ConfigKey[]) => void;
}

/** A gateway takes its time for a large snapshot, but not more than this. */
const SNAPSHOT_MS_MAX = 60_000;
/** A request that a gateway took in its last moment is recorded within it. */
const EXPIRY_MARGIN_MS = 500;

/**
 * Which gateway holds which revision, for one leader's term. A gateway is known from its first acknowledgement until it says goodbye
 * or its stream is gone for `forgetMs`. Before that it un-programs nothing, but may answer callers: with the copy on its disk, then
 * with a snapshot whose acknowledgement is under way or was lost. What is revoked waits for it from when it connects.
 *
 * A gateway acknowledges every heartbeat. One that is silent is cut off, so that a lost node or a frozen process, whose
 * connection looks open for a quarter of an hour, is forgotten like any other. One that refuses requests after its `maxStalenessMs`
 * is waited for exactly so long after its last acknowledgement, be that shorter or longer than `forgetMs`.
 */
export class GatewayRegistry {
  readonly #options: GatewayRegistryOptions;
  /** By name and instance. */
  readonly #gateways = new Map<string, Gateway>();
  /** What `onKnown` was called with last. */
  #told = '[]';

  constructor(options: GatewayRegistryOptions) {
    this.#options = options;
  }

  /**
   * Waits for gateways that the leader before knew, as if their streams had just ended: nothing is programmed before they have
   * acknowledged it, too, or are forgotten.
   */
  expect(known: readonly KnownGateway[]): void {
    for (const { name, maxStalenessMs } of known) {
      if (this.#gateways.has(keyOf(name, undefined))) continue;
      const gateway = this.#add(name, undefined, maxStalenessMs);
      // What it was told last was told before this term.
      this.#heard(gateway);
      this.#forgetLater(gateway);
    }
    this.#told = JSON.stringify(this.#all());
  }

  /** Those that are known. */
  get gateways(): readonly { name: string; acked: Revision; connected: boolean }[] {
    const { epoch } = this.#options;
    return this.#known().map(({ name, acked = { epoch, number: 0 }, streams }) => {
      return { name, acked, connected: streams.size > 0 };
    });
  }

  /** Whether this process of a gateway has a stream now. */
  isConnected(name: string, instance: string): boolean {
    return (this.#gateways.get(keyOf(name, instance))?.streams.size ?? 0) > 0;
  }

  /** Number of the revision that every known gateway holds; undefined when none is known. */
  get floor(): number | undefined {
    const known = this.#known();
    return known.length === 0 ? undefined : Math.min(...known.map(numberOf));
  }

  /**
   * A stream was opened; `cut` ends it. Returns what is to be called when it has ended. A new instance of a name is known from its first
   * acknowledgement, and then takes the place of predecessors that have no stream any more: until then it may answer from the copy
   * on their disk.
   */
  connected({ name, maxStalenessMs }: KnownGateway, instance: string, cut: () => void): () => void {
    const key = keyOf(name, instance);
    const gateway = this.#gateways.get(key) ?? this.#add(name, instance, maxStalenessMs);
    gateway.streams.add(cut);
    this.#cutLater(gateway, SNAPSHOT_MS_MAX);
    this.#tellKnown();
    return () => {
      gateway.streams.delete(cut);
      if (gateway.streams.size > 0 || this.#gateways.get(key) !== gateway) return;
      if (mayAnswer(gateway)) this.#forgetLater(gateway);
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
    this.#heard(gateway);
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
    return stateOf(this.#known(), key, since);
  }

  /** The same, for one whose state of before nobody must answer with any more: of all gateways that may. */
  revoked(key: ConfigKey, since: number): ProgrammedState {
    return stateOf(this.#answering(), key, since);
  }

  /** How many gateways may answer callers. */
  get answeringCount(): number {
    return this.#answering().length;
  }

  close(): void {
    for (const { timer, expiry } of this.#gateways.values()) for (const each of [timer, expiry]) clearTimeout(each);
    this.#gateways.clear();
  }

  #known(): readonly Gateway[] {
    return [...this.#gateways.values()].filter(isKnown);
  }

  #answering(): readonly Gateway[] {
    return [...this.#gateways.values()].filter(mayAnswer);
  }

  #add(name: string, instance: string | undefined, maxStalenessMs: number): Gateway {
    const state = { acked: undefined, rejected: new Map(), streams: new Set<() => void>() };
    const gateway: Gateway = { name, instance, maxStalenessMs, ...state, timer: undefined, expiry: undefined };
    this.#gateways.set(keyOf(name, instance), gateway);
    return gateway;
  }

  /** It is known from now on, and takes the place of whoever had its name. */
  #joined(gateway: Gateway): void {
    const others = [...this.#gateways.values()].filter(
      (other) => other !== gateway && other.name === gateway.name && other.streams.size === 0,
    );
    for (const other of others) this.#drop(other);
    const rejected = others.flatMap((other) => [...other.rejected.keys()]);
    this.#tellKnown();
    if (rejected.length > 0) this.#options.onProgress(rejected);
  }

  #heard(gateway: Gateway): void {
    clearTimeout(gateway.expiry);
    if (gateway.maxStalenessMs === 0) return;
    gateway.expiry = setTimeout(() => this.#expired(gateway), gateway.maxStalenessMs + EXPIRY_MARGIN_MS).unref();
  }

  /** It answers nobody. A stream that it still has may bring it back. */
  #expired(gateway: Gateway): void {
    if (gateway.streams.size === 0) {
      this.#forget(gateway);
      return;
    }
    const rejected = [...gateway.rejected.keys()];
    gateway.acked = undefined;
    gateway.rejected = new Map();
    this.#options.onProgress(rejected);
  }

  #cutLater(gateway: Gateway, ms: number): void {
    clearTimeout(gateway.timer);
    gateway.timer = setTimeout(() => {
      for (const cut of gateway.streams) cut();
    }, ms).unref();
  }

  #forgetLater(gateway: Gateway): void {
    clearTimeout(gateway.timer);
    if (gateway.maxStalenessMs > 0) return;
    gateway.timer = setTimeout(() => {
      // Another process of that name speaks for it: pods of one name never run at once.
      const isSucceeded = [...this.#gateways.values()].some(
        (other) => other !== gateway && other.name === gateway.name,
      );
      if (!isSucceeded) this.#options.onLost?.(gateway.name);
      this.#forget(gateway);
    }, this.#options.forgetMs).unref();
  }

  #forget(gateway: Gateway): void {
    this.#drop(gateway);
    this.#tellKnown();
    this.#options.onProgress([...gateway.rejected.keys()]);
  }

  #drop(gateway: Gateway): void {
    clearTimeout(gateway.timer);
    clearTimeout(gateway.expiry);
    this.#gateways.delete(keyOf(gateway.name, gateway.instance));
  }

  #tellKnown(): void {
    const all = this.#all();
    const told = JSON.stringify(all);
    if (told === this.#told) return;
    this.#told = told;
    this.#options.onKnown(all);
  }

  /** Also one that answers nobody before it is told that its acknowledgement was heard: that must not be told before it is here. */
  #all(): readonly KnownGateway[] {
    const all = new Map<string, KnownGateway>();
    for (const { name, maxStalenessMs } of this.#gateways.values()) {
      // Of two processes of one name, the one that answers longer.
      const other = all.get(name)?.maxStalenessMs;
      all.set(name, { name, maxStalenessMs: other === undefined ? maxStalenessMs : longer(other, maxStalenessMs) });
    }
    return [...all.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

const stateOf = (gateways: readonly Gateway[], key: ConfigKey, since: number): ProgrammedState => {
  if (gateways.length === 0) return { kind: 'no-gateway' };
  for (const { name, rejected } of gateways) {
    const message = rejected.get(key);
    if (message !== undefined) return { kind: 'rejected', gateway: name, message };
  }
  const waiting = gateways.filter((gateway) => numberOf(gateway) < since);
  if (waiting.length === 0) return { kind: 'programmed' };
  return {
    kind: 'waiting',
    gateways: namesOf(waiting),
    known: gateways.length,
    unheard: waiting.every(({ acked }) => acked === undefined),
  };
};

const keyOf = (name: string, instance: string | undefined): string => `${name} ${instance ?? ''}`;

/** 0 is for ever. */
const longer = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : Math.max(a, b));

const isKnown = ({ acked, instance }: Gateway): boolean => acked !== undefined || instance === undefined;

/** With a `maxStalenessMs` it answers nobody before its first acknowledgement was answered, whatever it has on its disk. */
const mayAnswer = (gateway: Gateway): boolean => isKnown(gateway) || gateway.maxStalenessMs === 0;

const numberOf = ({ acked }: Gateway): number => acked?.number ?? 0;

const namesOf = (gateways: readonly Gateway[]): readonly string[] =>
  [...new Set(gateways.map(({ name }) => name))].sort();

const messagesOf = (rejected: readonly RejectedObject[]): ReadonlyMap<ConfigKey, string> =>
  new Map(rejected.map(({ key, message }) => [key, message]));

const differingKeys = (a: ReadonlyMap<ConfigKey, string>, b: ReadonlyMap<ConfigKey, string>): ConfigKey[] =>
  [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key));
