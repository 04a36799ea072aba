import {
  compareRevisions,
  LIMITS,
  parseRevision,
  type Ack,
  type ConfigKey,
  type RejectedObject,
  type Revision,
} from '@standin/contract';

/** One process of a gateway, or only the name of a gateway that the previous leader knew. */
interface Gateway {
  readonly name: string;
  /** Undefined: only the name is known, until a process of that name connects. */
  readonly instance: string | undefined;
  /** Undefined: it has not acknowledged anything in this term, but it may answer callers. */
  acked: Revision | undefined;
  rejected: ReadonlyMap<ConfigKey, string>;
  /** Functions that end its open streams. There is briefly more than one when it reconnects before the old stream has ended. */
  readonly streams: Set<() => void>;
  /** With an open stream: ends the stream when the gateway is silent. Without one: forgets the gateway, unless `expiry` does. */
  timer: NodeJS.Timeout | undefined;
  /** See `KnownGateway`. */
  maxStalenessMs: number;
  /**
   * Fires when `maxStalenessMs` has passed since the last acknowledgement. The gateway then no longer answers, and is not waited
   * for until it acknowledges again.
   */
  expiry: NodeJS.Timeout | undefined;
}

/** What the next leader must know about a gateway. */
export interface KnownGateway {
  readonly name: string;
  /**
   * The gateway stops answering this long after it last heard from an operator. 0: it keeps answering with its current
   * configuration.
   */
  readonly maxStalenessMs: number;
}

/** The state of one object at the gateways. */
export type ProgrammedState =
  | { readonly kind: 'programmed' }
  | { readonly kind: 'no-gateway' }
  | {
      readonly kind: 'waiting';
      readonly gateways: readonly string[];
      readonly known: number;
      /** None of the waiting gateways was heard in this term. They may still have the object from an earlier term. */
      readonly unheard: boolean;
    }
  | { readonly kind: 'rejected'; readonly gateway: string; readonly message: string };

export interface GatewayRegistryOptions {
  readonly epoch: number;
  readonly forgetMs: number;
  /** Called when a gateway connects or is forgotten, with all gateways that may answer now or soon. */
  readonly onKnown: (gateways: readonly KnownGateway[]) => void;
  /**
   * Called with the name of a gateway that is forgotten and may still answer: it has no `maxStalenessMs` and sent no goodbye
   * message.
   */
  readonly onLost?: (name: string) => void;
  /** Called when `floor` may have changed, and with the keys of objects that are newly rejected, or no longer rejected. */
  readonly onProgress: (keys: readonly ConfigKey[]) => void;
}

/** A gateway may take this long to read a large snapshot. */
const SNAPSHOT_MS_MAX = 60_000;
/** Time to record a request that a gateway accepted just before its expiry. */
const EXPIRY_MARGIN_MS = 500;

/**
 * Tracks which gateway holds which revision, for one leader's term. A gateway is known from its first acknowledgement until its
 * goodbye message, or until its stream has been gone for `forgetMs`. A gateway that has not acknowledged yet does not delay
 * `Programmed`. But it may answer callers: with the copy on its disk, then with a snapshot whose acknowledgement is in flight or
 * was lost. A revocation therefore waits for it from the moment it connects.
 *
 * A gateway acknowledges every heartbeat. The stream of a silent gateway is ended. So a lost node or a frozen process, whose
 * connection looks open for a quarter of an hour, is forgotten like any other. A gateway with a `maxStalenessMs` refuses requests
 * after that time. It is waited for exactly that long after its last acknowledgement, whether that is shorter or longer than
 * `forgetMs`.
 */
export class GatewayRegistry {
  readonly #options: GatewayRegistryOptions;
  /** By name and instance. */
  readonly #gateways = new Map<string, Gateway>();
  /** The last argument of `onKnown`. */
  #told = '[]';

  constructor(options: GatewayRegistryOptions) {
    this.#options = options;
  }

  /**
   * Waits for gateways that the previous leader knew, as if their streams had just ended. Nothing counts as programmed until they
   * have also acknowledged it or are forgotten.
   */
  expect(known: readonly KnownGateway[]): void {
    for (const { name, maxStalenessMs } of known) {
      if (this.#gateways.has(keyOf(name, undefined))) continue;
      const gateway = this.#add(name, undefined, maxStalenessMs);
      // The last message to it predates this term.
      this.#heard(gateway);
      this.#forgetLater(gateway);
    }
    this.#told = JSON.stringify(this.#all());
  }

  /** The known gateways. */
  get gateways(): readonly { name: string; acked: Revision; connected: boolean }[] {
    const { epoch } = this.#options;
    return this.#known().map(({ name, acked = { epoch, number: 0 }, streams }) => {
      return { name, acked, connected: streams.size > 0 };
    });
  }

  /** Whether this process of a gateway has an open stream. */
  isConnected(name: string, instance: string): boolean {
    return (this.#gateways.get(keyOf(name, instance))?.streams.size ?? 0) > 0;
  }

  /** Number of the revision that every known gateway holds. Undefined if no gateway is known. */
  get floor(): number | undefined {
    const known = this.#known();
    return known.length === 0 ? undefined : Math.min(...known.map(numberOf));
  }

  /**
   * Registers a new stream, which `cut` ends. Returns a function to call when the stream has ended. A new instance of a name is
   * known from its first acknowledgement. It then replaces predecessors without a stream. Until then, it may answer from the copy
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

  /** The gateway shut down gracefully. */
  goodbye(name: string, instance: string): void {
    const gateway = this.#gateways.get(keyOf(name, instance));
    if (gateway !== undefined) this.#forget(gateway);
  }

  /** Returns false if the acknowledgement is for another term, or its gateway has no stream. The gateway must then reconnect. */
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

  /** The state at the gateways of an object that revision `since` put. */
  programmed(key: ConfigKey, since: number): ProgrammedState {
    return stateOf(this.#known(), key, since);
  }

  /** Like `programmed`, for an object whose previous state no gateway may use. Covers all gateways that may answer callers. */
  revoked(key: ConfigKey, since: number): ProgrammedState {
    return stateOf(this.#answering(), key, since);
  }

  /** Number of gateways that may answer callers. */
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

  /** Marks the gateway as known. It replaces earlier processes of the same name. */
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

  /** The gateway no longer answers. If it has an open stream, it may return. */
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
      // Another process has taken over: two pods of one name never run at the same time.
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

  /**
   * Includes gateways that do not answer until they get a response to their acknowledgement: they must be in the list before that
   * response.
   */
  #all(): readonly KnownGateway[] {
    const all = new Map<string, KnownGateway>();
    for (const { name, maxStalenessMs } of this.#gateways.values()) {
      // Of two processes with one name, the one that answers longer counts.
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

/** 0 means forever. */
const longer = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : Math.max(a, b));

const isKnown = ({ acked, instance }: Gateway): boolean => acked !== undefined || instance === undefined;

/**
 * With a `maxStalenessMs`, a gateway does not answer before the response to its first acknowledgement, even with a copy on its
 * disk.
 */
const mayAnswer = (gateway: Gateway): boolean => isKnown(gateway) || gateway.maxStalenessMs === 0;

const numberOf = ({ acked }: Gateway): number => acked?.number ?? 0;

const namesOf = (gateways: readonly Gateway[]): readonly string[] =>
  [...new Set(gateways.map(({ name }) => name))].sort();

const messagesOf = (rejected: readonly RejectedObject[]): ReadonlyMap<ConfigKey, string> =>
  new Map(rejected.map(({ key, message }) => [key, message]));

const differingKeys = (a: ReadonlyMap<ConfigKey, string>, b: ReadonlyMap<ConfigKey, string>): ConfigKey[] =>
  [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key));
