import type { Ack, ConfigKey } from '@standin/contract';
import { systemClock, WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Controller } from '../controller.ts';
import type { GatewayMemory } from './gateway-memory.ts';
import type { IsGatewayGone } from './gateway-pods.ts';
import type { Cut, KnownGateway, ProgrammedState, WantedProject } from './gateway-record.ts';
import type { Effects } from './gateway-record.ts';
import { GatewayStates } from './gateway-states.ts';

export interface GatewayControllerOptions {
  readonly epoch: number;
  readonly forgetMs: number;
  readonly memory: GatewayMemory;
  readonly isGone: IsGatewayGone;
  /** Returns the number of the revision that last put an object, or undefined if it is not published. */
  readonly since: (key: ConfigKey) => number | undefined;
  /** Returns the number of the last revision. */
  readonly revision: () => number;
  /** See `Controller.gatewaysChanged`. */
  readonly onChange: (keys: readonly ConfigKey[]) => void;
  readonly logger: Logger;
  readonly registry?: Registry | undefined;
}

const WRITE_BACKOFF = { baseMs: 100, capMs: 30_000 };
/** The only key in the write queue. */
const MEMBERS = 'members';

/** Interval between lookups of a lost gateway. */
const LOOK_UP_MS = 2_000;
/** Maximum number of concurrent lookups. More than one lookup is allowed, so that a hanging lookup does not delay the others. */
const LOOK_UPS_MAX = 16;

interface Waiter {
  readonly gateway: string;
  readonly settled: PromiseWithResolvers<undefined>;
}

/** The longest delay that a timer supports. A timer with a longer delay fires immediately. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Carries out the decisions of `GatewayStates`, for one leader's term. Ends streams of silent gateways, stores the gateways for the
 * next leader, and checks whether lost and expired gateways are gone.
 */
export class GatewayController implements Controller {
  readonly name = 'gateways';
  readonly #options: GatewayControllerOptions;
  readonly #states: GatewayStates;
  readonly #writes: WorkQueue;
  readonly #lookUps: WorkQueue;
  /** Lost gateways that have been logged because it is unknown whether they are gone. */
  readonly #unclear = new Set<string>();
  readonly #waiters = new Set<Waiter>();
  /** The gateways that are stored for the next leader, as far as this leader knows. See `GatewayStates.members`. */
  #stored: readonly KnownGateway[] = [];
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #isStopped = false;

  constructor(options: GatewayControllerOptions) {
    this.#options = options;
    const { epoch, forgetMs, logger, registry } = options;
    this.#states = new GatewayStates({ epoch, forgetMs });
    this.#writes = new WorkQueue({
      name: 'gateways',
      backoff: WRITE_BACKOFF,
      registry,
      logger,
      reconcile: () => this.#write(),
    });
    this.#lookUps = new WorkQueue({
      name: 'lost-gateways',
      concurrency: LOOK_UPS_MAX,
      registry,
      logger,
      reconcile: async (name) => ((await this.#isStillLost(name)) ? { requeueAfterMs: LOOK_UP_MS } : undefined),
    });
  }

  /** Reads the gateways that the previous leader knew. Rejects if they cannot be read. */
  async prepare(): Promise<void> {
    this.#stored = await this.#options.memory.read();
    this.#states.remember(this.#stored, systemClock.now());
    this.#wakeLater();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const { settled } of this.#waiters) settled.reject(stopped());
    this.#waiters.clear();
    await Promise.all([this.#writes.stop(), this.#lookUps.stop()]);
  }

  get known(): GatewayStates['known'] {
    return this.#states.known;
  }

  get processes(): GatewayStates['processes'] {
    return this.#states.processes;
  }

  /** Returns whether this gateway is connected, known, remembered, lost or expired. */
  has(name: string): boolean {
    return this.#states.members.some((member) => member.name === name);
  }

  get floor(): number | undefined {
    return this.#states.floor;
  }

  get answeringCount(): number {
    return this.#states.answeringCount;
  }

  isConnected(name: string, instance: string): boolean {
    return this.#states.isConnected(name, instance);
  }

  /** Returns the state of an object at the gateways, or undefined if it is not published. */
  programmed(key: ConfigKey): ProgrammedState | undefined {
    const since = this.#options.since(key);
    return since === undefined ? undefined : this.#states.programmed(key, since);
  }

  /** See `GatewayStates.withdrawn`. */
  withdrawn(key: ConfigKey): ProgrammedState | undefined {
    return this.#states.withdrawn(key);
  }

  /**
   * Returns the state of an object at every gateway that may answer callers. `programmed` covers fewer gateways, unless a
   * revocation of the object is in progress. Returns undefined if the object is not published.
   */
  revoked(key: ConfigKey): ProgrammedState | undefined {
    const since = this.#options.since(key);
    return since === undefined ? undefined : this.#states.revoked(key, since);
  }

  /**
   * Begins a revocation of the object's states from before its last revision, or of all its states if it is no longer published.
   * Until the revocation is complete, `programmed` waits for every gateway that may still use these states, including lost ones.
   */
  revoke(key: ConfigKey): void {
    this.#states.revoke(key, this.#options.since(key) ?? this.#options.revision());
  }

  cancelRevocation(key: ConfigKey): void {
    this.#states.cancelRevocation(key);
  }

  /** Registers a new stream, which `cut` ends. Returns a function to call when the stream has ended. */
  connected(gateway: KnownGateway, instance: string, cut: Cut): () => void {
    this.#apply(this.#states.connected(gateway, instance, cut, systemClock.now()));
    return () => this.#apply(this.#states.disconnected(gateway.name, instance, cut, systemClock.now()));
  }

  goodbye(name: string, instance: string, hasUndelivered: boolean): void {
    this.#apply(this.#states.goodbye(name, instance, hasUndelivered));
  }

  /**
   * The log has every request of the project that the gateways received before this time, except those in quarantine. In
   * milliseconds of `systemClock.now()`. See `GatewayStates.deliveredUpTo`.
   */
  deliveredUpTo(project: WantedProject): number {
    return this.#states.deliveredUpTo(project);
  }

  /**
   * Returns descriptions of the gateways that may have requests of the project which were received before this time and are not in
   * the log. The time is in milliseconds of `systemClock.now()`. Omits expired gateways for which `isJudged` returns true.
   */
  undelivered(
    wanted: WantedProject & { readonly before: number },
    isJudged: (gateway: string) => boolean,
  ): readonly string[] {
    return this.#states.undelivered(wanted, isJudged);
  }

  /** Records an acknowledgement. Returns false if the gateway must reconnect. */
  ack(ack: Ack): boolean {
    const effects = this.#states.acknowledged(ack, systemClock.now());
    if (effects !== undefined) this.#apply(effects);
    return effects !== undefined;
  }

  /** Resolves when this gateway is stored for the next leader, or is no longer a member. Rejects if the term ends first. */
  async stored(gateway: string): Promise<void> {
    if (this.#isStored(gateway)) return;
    if (this.#isStopped) throw stopped();
    const waiter = { gateway, settled: Promise.withResolvers<undefined>() };
    this.#waiters.add(waiter);
    await waiter.settled.promise;
  }

  #apply({ cut, lost, isChanged, progress }: Effects): void {
    if (this.#isStopped) return;
    for (const end of cut) end();
    for (const name of lost) this.#lookUps.add(name);
    if (isChanged) this.#writes.add(MEMBERS);
    if (progress !== undefined) this.#options.onChange(progress);
    this.#wakeLater();
  }

  #wakeLater(): void {
    const { wakeAt } = this.#states;
    if (wakeAt >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = wakeAt;
    const wake = (): void => {
      this.#timerAt = Infinity;
      this.#apply(this.#states.advance(systemClock.now()));
    };
    const delayMs = Math.max(1, Math.ceil(wakeAt - systemClock.now()));
    this.#timer = setTimeout(wake, Math.min(TIMER_MS_MAX, delayMs)).unref();
  }

  async #write(): Promise<undefined> {
    const { members } = this.#states;
    await this.#options.memory.write(members);
    this.#stored = members;
    for (const waiter of this.#waiters) {
      if (!this.#isStored(waiter.gateway)) continue;
      this.#waiters.delete(waiter);
      waiter.settled.resolve(undefined);
    }
  }

  #isStored(gateway: string): boolean {
    const wanted = this.#states.members.find(({ name }) => name === gateway);
    const stored = this.#stored.find(({ name }) => name === gateway);
    // A gateway that is not a member does not answer, so the next leader does not have to know it.
    return wanted === undefined || stored?.maxStalenessMs === wanted.maxStalenessMs;
  }

  async #isStillLost(name: string): Promise<boolean> {
    if (!this.#states.isLost(name)) {
      this.#unclear.delete(name);
      return false;
    }
    const { isGone, logger } = this.#options;
    const isEnded = await isGone(name).catch((error: unknown) => {
      const level = this.#unclear.has(name) ? 'debug' : 'warn';
      logger[level]({ gateway: name, err: error }, 'cannot determine whether an unreachable gateway is gone');
      this.#unclear.add(name);
      return false;
    });
    if (isEnded) this.#apply(this.#states.gone(name));
    // Another lookup always follows. If the gateway is no longer lost, that lookup notices it.
    return true;
  }
}

const stopped = (): Error => new Error('this operator lost leadership before it stored the gateway');
