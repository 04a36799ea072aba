import { compareRevisions, LIMITS, parseRevision, type Ack, type ConfigKey, type Revision } from '@standin/contract';
import {
  accept,
  deliveredUpTo,
  isKnown,
  processKey,
  currentMembers,
  mayAnswer,
  newProcess,
  ackedNumber,
  recordDelivered,
  rejectedBy,
  programmedState,
  undeliveredBy,
  type Cut,
  type Effects,
  type KnownGateway,
  type Process,
  type ProgrammedState,
  type WantedProject,
} from './gateway-record.ts';
import { Revocations, revokedState, type AnsweringGateways } from './revocations.ts';

export interface GatewayStatesOptions {
  readonly epoch: number;
  readonly forgetMs: number;
}

/** A gateway may take this long to read a large snapshot. */
const SNAPSHOT_MS_MAX = 60_000;
/** Allows time to record a request that a gateway accepted just before its expiry. */
const EXPIRY_MARGIN_MS = 500;

const NOTHING: Effects = { cut: [], lost: [], isChanged: false, progress: undefined };

/**
 * The state of every gateway, for one leader's term. Has no timers and does no I/O. Each event takes the current time and returns
 * its effects. `advance` must be called at `wakeAt`. Times are in milliseconds of a monotonic clock.
 *
 * - Remembered: the previous leader knew the gateway, and it has not acknowledged in this term. `Programmed` and revocations wait
 *   for it until it acknowledges or becomes lost or gone.
 * - Connected: it has a stream and has not acknowledged yet. It does not delay `Programmed`. However, without a `maxStalenessMs` it
 *   may answer callers, first with the copy on its disk, then with a snapshot whose acknowledgement is in flight or was lost. So a
 *   revocation waits for it.
 * - Known: it has acknowledged a revision. It acknowledges every heartbeat, and the stream of a silent gateway is ended. So a
 *   gateway on a lost node or with a frozen process becomes lost like any other gateway, although its connection can look open for
 *   a quarter of an hour.
 * - Lost: its stream has been gone for `forgetMs`. It may still answer with its last configuration, because a gateway keeps running
 *   during a network partition. `Programmed` does not wait for it, because a lost node would block every change. A revocation waits
 *   for it.
 * - Expired: it has no stream, and has not acknowledged anything for its `maxStalenessMs`, or has not acknowledged at all, or its
 *   goodbye message says that it leaves requests. A `maxStalenessMs` replaces `forgetMs`, whether it is shorter or longer. It does
 *   not answer, so neither `Programmed` nor a revocation waits for it. However, its disk may hold requests that are not in the log.
 * - Gone: it sent another goodbye message, or has stopped and left no data according to the platform.
 */
export class GatewayStates {
  readonly #options: GatewayStatesOptions;
  /** The processes by name and instance. */
  readonly #processes = new Map<string, Process>();
  /** The names of lost gateways. No process with the same name is in `#processes`. */
  readonly #lost = new Set<string>();
  /** The names of expired gateways. No process with the same name is in `#processes`. */
  readonly #expired = new Set<string>();
  readonly #revocations = new Revocations();
  #members: readonly KnownGateway[] = [];
  #wakeAt = Infinity;

  constructor(options: GatewayStatesOptions) {
    this.#options = options;
  }

  /**
   * All gateways that are not gone, by name. Includes gateways that do not answer until they get a response to their
   * acknowledgement, because such gateways must be stored before that response. Also includes lost gateways, because the next
   * leader must not complete a revocation that is waiting for them, and expired gateways, because of their requests.
   */
  get members(): readonly KnownGateway[] {
    return this.#members;
  }

  /** The earliest time at which `advance` may have an effect. Infinity if there is none. */
  get wakeAt(): number {
    return this.#wakeAt;
  }

  /** The known and remembered gateways. */
  get known(): readonly { name: string; acked: Revision; connected: boolean }[] {
    const { epoch } = this.#options;
    return this.#known().map(({ name, acked = { epoch, number: 0 }, streams }) => {
      return { name, acked, connected: streams.size > 0 };
    });
  }

  /**
   * The lowest revision number that any known or remembered gateway holds, or 0 if one of them has not acknowledged in this term.
   * Undefined if there are no such gateways.
   */
  get floor(): number | undefined {
    const known = this.#known();
    return known.length === 0 ? undefined : Math.min(...known.map(ackedNumber));
  }

  /** Number of gateways that may answer callers. */
  get answeringCount(): number {
    return this.#answering().length + this.#lost.size;
  }

  /**
   * The log has every request of the project that the gateways received before this time, except those in quarantine. The time is
   * -Infinity if it is unknown, for example because a gateway is lost or expired, and Infinity if there are no gateways.
   */
  deliveredUpTo(project: WantedProject): number {
    if (this.#lost.size > 0 || this.#expired.size > 0) return -Infinity;
    return Math.min(...[...this.#processes.values()].map((process) => deliveredUpTo(process, project)));
  }

  /** See `undeliveredBy`. Omits expired gateways for which `isJudged` returns true. */
  undelivered(
    wanted: WantedProject & { readonly before: number },
    isJudged: (gateway: string) => boolean = () => false,
  ): readonly string[] {
    const expired = [...this.#expired].filter((name) => !isJudged(name));
    return undeliveredBy(this.#processes.values(), [...this.#lost, ...expired], wanted);
  }

  /** Returns whether this gateway is lost or expired. */
  isLost(name: string): boolean {
    return this.#lost.has(name) || this.#expired.has(name);
  }

  /** All processes that may have accepted requests and are neither lost nor expired, and whether they have an open stream. */
  get processes(): readonly (Pick<Process, 'name' | 'instance'> & { readonly isConnected: boolean })[] {
    return Array.from(this.#processes.values(), ({ name, instance, streams }) => {
      return { name, instance, isConnected: streams.size > 0 };
    });
  }

  /** Returns whether this gateway process has an open stream. */
  isConnected(name: string, instance: string): boolean {
    return (this.#processes.get(processKey(name, instance))?.streams.size ?? 0) > 0;
  }

  /**
   * Returns the state of an object that was put in revision `since`. Lost gateways count only while a revocation of the object is
   * incomplete.
   */
  programmed(key: ConfigKey, since: number): ProgrammedState {
    if (!this.#revocations.has(key)) return programmedState(this.#known(), key, since);
    const state = this.revoked(key, since);
    // With `unheard`, the `Programmed` of an earlier leader would remain True. That says nothing about the revoked state, which a
    // gateway that has not acknowledged in this term may still use.
    return state.kind === 'waiting' ? { ...state, unheard: false } : state;
  }

  /**
   * Returns the state, at all gateways that may answer callers, of an object that was put in revision `since`. Includes lost
   * gateways even if no revocation is in progress.
   */
  revoked(key: ConfigKey, since: number): ProgrammedState {
    return revokedState(this.#answeringGateways(), key, since);
  }

  /**
   * Returns the state of the removal of an object that gateways must no longer use, because it is not published, or published as not
   * accepted. Returns undefined if no gateway may still use its earlier state, or if its removal is not a revocation.
   */
  withdrawn(key: ConfigKey): ProgrammedState | undefined {
    const since = this.#revocations.since(key);
    const state = since === undefined ? undefined : this.programmed(key, since);
    return state?.kind === 'programmed' || state?.kind === 'no-gateway' ? undefined : state;
  }

  /**
   * Begins a revocation of the object's states from before revision `since`. The revocation is complete when no
   * gateway that may answer uses these states.
   */
  revoke(key: ConfigKey, since: number): void {
    this.#revocations.add(key, since);
  }

  cancelRevocation(key: ConfigKey): void {
    this.#revocations.cancel(key);
  }

  /**
   * Adds gateways that the previous leader knew. They are treated as if their streams had just ended. No object counts as
   * programmed until these gateways have also acknowledged it, or are lost or gone.
   */
  remember(known: readonly KnownGateway[], now: number): void {
    for (const { name, maxStalenessMs } of known) {
      if (this.#processes.has(processKey(name, undefined))) continue;
      const process = this.#add(name, undefined, maxStalenessMs);
      // The last contact with this gateway was before the term, so it was not later than `now`.
      this.#recordContact(process, now);
      this.#streamless(process, now);
    }
    this.#refresh();
  }

  /**
   * Records a gateway's new stream. With its first acknowledgement, a new instance becomes known and replaces predecessors without
   * a stream. Before that acknowledgement, the instance may answer with its predecessors' copy on disk.
   */
  connected({ name, maxStalenessMs }: KnownGateway, instance: string, cut: Cut, now: number): Effects {
    const process = this.#processes.get(processKey(name, instance)) ?? this.#add(name, instance, maxStalenessMs);
    process.streams.add(cut);
    this.#setDue(process, now + SNAPSHOT_MS_MAX);
    this.#lost.delete(name);
    this.#expired.delete(name);
    return { ...NOTHING, isChanged: this.#refresh() };
  }

  /** Records that a stream has ended. */
  disconnected(name: string, instance: string, cut: Cut, now: number): Effects {
    const process = this.#processes.get(processKey(name, instance));
    if (process === undefined || !process.streams.delete(cut) || process.streams.size > 0) return NOTHING;
    if (!mayAnswer(process))
      return { ...NOTHING, lost: this.#lose(process, this.#expired), isChanged: this.#refresh() };
    this.#streamless(process, now);
    return NOTHING;
  }

  /** Records that a gateway has shut down gracefully, and whether its disk has requests that are not in the log. */
  goodbye(name: string, instance: string, hasUndelivered = false): Effects {
    const process = this.#processes.get(processKey(name, instance));
    if (process === undefined) return NOTHING;
    const rejected = rejectedBy(process);
    const lost = hasUndelivered ? this.#lose(process, this.#expired) : [];
    this.#processes.delete(processKey(name, instance));
    return { ...NOTHING, lost, isChanged: this.#refresh(), progress: this.#progress(rejected) };
  }

  /**
   * Records an acknowledgement. Returns undefined if it is for another term or its gateway has no stream. In both cases, the
   * gateway must reconnect.
   */
  acknowledged(ack: Ack, now: number): Effects | undefined {
    const revision = parseRevision(ack.revision);
    const process = this.#processes.get(processKey(ack.gateway, ack.instance));
    if (revision.epoch !== this.#options.epoch || process === undefined || process.streams.size === 0) return undefined;
    this.#setDue(process, now + LIMITS.streamSilenceMsMax);
    this.#recordContact(process, now);
    if (ack.heartbeatMs !== undefined) recordDelivered(process, ack.undelivered, Math.min(ack.heartbeatMs, now));
    const { acked } = process;
    const order = acked === undefined ? 1 : compareRevisions(revision, acked);
    if (order < 0) return NOTHING;
    const replaced = acked === undefined ? this.#dropPredecessors(process) : [];
    const keys = [...replaced.flatMap(rejectedBy), ...accept(process, revision, ack.rejected)];
    if (order === 0 && keys.length === 0) return NOTHING;
    return { ...NOTHING, isChanged: replaced.length > 0 && this.#refresh(), progress: this.#progress(keys) };
  }

  /** Records that a lost or expired gateway has stopped, and that all its data is gone. */
  gone(name: string): Effects {
    if (!this.#lost.delete(name) && !this.#expired.delete(name)) return NOTHING;
    return { ...NOTHING, isChanged: this.#refresh(), progress: this.#progress([]) };
  }

  /** Returns the streams of silent gateways, and applies `forgetMs` and `maxStalenessMs` to gateways whose time is over. */
  advance(now: number): Effects {
    const cut: Cut[] = [];
    const lost: string[] = [];
    const released: ConfigKey[][] = [];
    for (const process of this.#processes.values()) {
      const { streams, dueAt, expiresAt } = process;
      if (streams.size === 0 && Math.min(dueAt, expiresAt) <= now) {
        released.push(rejectedBy(process));
        lost.push(...this.#lose(process, dueAt <= now ? this.#lost : this.#expired));
        continue;
      }
      if (dueAt <= now) {
        cut.push(...streams);
        process.dueAt = Infinity;
      }
      if (expiresAt <= now) {
        // The gateway no longer answers. It may return, because it has an open stream.
        released.push(rejectedBy(process));
        Object.assign(process, { acked: undefined, rejected: new Map(), expiresAt: Infinity });
      }
    }
    this.#wakeAt = Infinity;
    for (const { dueAt, expiresAt } of this.#processes.values())
      this.#wakeAt = Math.min(this.#wakeAt, dueAt, expiresAt);
    if (released.length === 0) return { ...NOTHING, cut };
    return { cut, lost, isChanged: this.#refresh(), progress: this.#progress(released.flat()) };
  }

  #known(): readonly Process[] {
    return [...this.#processes.values()].filter(isKnown);
  }

  #answering(): readonly Process[] {
    return [...this.#processes.values()].filter(mayAnswer);
  }

  #answeringGateways(): AnsweringGateways {
    return { processes: this.#answering(), lost: this.#lost };
  }

  #add(name: string, instance: string | undefined, maxStalenessMs: number): Process {
    const process = newProcess(name, instance, maxStalenessMs);
    this.#processes.set(processKey(name, instance), process);
    return process;
  }

  /** Drops earlier processes with the same name that have no stream, and returns them. */
  #dropPredecessors(successor: Process): readonly Process[] {
    const predecessors = [...this.#processes.values()].filter(
      (process) => process !== successor && process.name === successor.name && process.streams.size === 0,
    );
    for (const process of predecessors) this.#processes.delete(processKey(process.name, process.instance));
    return predecessors;
  }

  /** Moves a process without a stream to the lost or expired gateways. Returns its name, unless it has a successor. */
  #lose(process: Process, names: Set<string>): string[] {
    const { name, instance } = process;
    this.#processes.delete(processKey(name, instance));
    // If there is another process with the same name, it has taken over, because two pods with the same name never run at the same
    // time.
    if ([...this.#processes.values()].some((other) => other.name === name)) return [];
    names.add(name);
    return [name];
  }

  #recordContact(process: Process, now: number): void {
    if (process.maxStalenessMs === 0) return;
    process.expiresAt = now + process.maxStalenessMs + EXPIRY_MARGIN_MS;
    this.#wakeAt = Math.min(this.#wakeAt, process.expiresAt);
  }

  /** Records that the process no longer has a stream. */
  #streamless(process: Process, now: number): void {
    this.#setDue(process, process.maxStalenessMs > 0 ? Infinity : now + this.#options.forgetMs);
  }

  #setDue(process: Process, at: number): void {
    process.dueAt = at;
    this.#wakeAt = Math.min(this.#wakeAt, at);
  }

  /** Returns `keys` and the objects whose revocation is now complete. */
  #progress(keys: readonly ConfigKey[]): readonly ConfigKey[] {
    return [...keys, ...this.#revocations.takeComplete(this.#answeringGateways(), keys)];
  }

  /** Computes `members`. Returns true if they have changed. */
  #refresh(): boolean {
    const before = JSON.stringify(this.#members);
    this.#members = currentMembers(this.#processes.values(), this.#lost, this.#expired);
    return JSON.stringify(this.#members) !== before;
  }
}
