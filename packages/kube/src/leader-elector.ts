// client-node has no leader election.

import { randomUUID } from 'node:crypto';
import { LIMITS } from '@standin/contract';
import type { Registry } from 'prom-client';
import { systemClock, type Clock } from './clock.ts';
import type { CallOptions, KubeClient } from './kube-client.ts';
import {
  LeaseStore,
  annotationsWith,
  firstEpoch,
  leaseLeader,
  microTime,
  withoutVersion,
  type Leader,
  type Lease,
} from './lease.ts';
import type { KubeLogger } from './logger.ts';
import { leaderMetrics } from './metrics.ts';

export interface LeaderElectorOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** The name of the Lease. */
  readonly name: string;
  /**
   * Identifies this process to users, for example by its pod name. A UUID is added, so that a restarted process has a new identity.
   */
  readonly identity: string;
  /** This process's address while it is leading. */
  readonly url?: string | undefined;
  readonly leaseDurationMs?: number;
  /**
   * A leader that has not been able to renew for this long stops leading. Must be shorter than the lease duration, so that the
   * leader stops before another candidate starts.
   */
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  readonly logger: KubeLogger;
  readonly registry?: Registry | undefined;
  readonly clock?: Clock | undefined;
}

/** One period of leadership. */
export interface Term {
  /** Increases with every term of any process. */
  readonly epoch: number;
  /** Aborts when leadership is lost or released. When the signal aborts, all the leader's work must end. */
  readonly signal: AbortSignal;
  /**
   * Returns for how long this process leads unless it renews the lease. Unlike the signal, the result is right as soon as a frozen
   * process continues.
   */
  readonly remainingMs: () => number;
}

export interface LeaderCallbacks {
  /**
   * Leads until `term.signal` aborts. After the abort, the promise must settle before the lease expires, because another process
   * may lead afterwards. The shortest time until then is the lease duration minus the renewal deadline. Resolving before the abort
   * has no effect. A rejection releases leadership. The next term of this process starts only after the promise has settled.
   */
  readonly onStartedLeading: (term: Term) => Promise<void>;
  /** Called whenever the known leader changes, including to this process. */
  readonly onNewLeader?: (leader: Leader) => void;
  /** When the signal aborts, the candidacy ends and the lease is released, so that the next leader starts immediately. */
  readonly signal: AbortSignal;
}

/** When a term ends unless the lease is renewed. */
interface Deadline {
  readonly remainingMs: () => number;
  readonly passed: () => boolean;
  readonly moveTo: (time: number) => void;
  readonly cancel: () => void;
}

/** The duration of a released lease, which is the shortest that the API server accepts. */
const RELEASED_SECONDS = 1;

/**
 * Leader election on a Lease, with client-go's algorithm. A candidate decides whether a lease has expired by the time when it last
 * saw the lease change, on its own monotonic clock, so the machines' clocks need not agree. All writes are compare-and-swap. No
 * more than one process leads at a time, provided that work stops when the term's signal aborts. A process that was frozen may run
 * for a moment before it notices that it no longer leads. Anything that must not happen twice needs the epoch or a resourceVersion.
 */
export class LeaderElector {
  readonly identity: string;
  readonly #options: LeaderElectorOptions;
  readonly #clock: Clock;
  readonly #store: LeaseStore;
  readonly #durationMs: number;
  readonly #deadlineMs: number;
  readonly #retryMs: number;
  /** The lease as last seen, and the time when this version was first seen. */
  #observed: { readonly lease: Lease | undefined; readonly at: number } | undefined;
  #reported: string | undefined;

  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    this.identity = `${options.identity}_${randomUUID()}`;
    this.#clock = options.clock ?? systemClock;
    this.#store = new LeaseStore(options.client, options.namespace, options.name);
    this.#durationMs = options.leaseDurationMs ?? LIMITS.leaseDurationMs;
    this.#deadlineMs = options.renewDeadlineMs ?? LIMITS.leaseRenewDeadlineMs;
    this.#retryMs = options.retryPeriodMs ?? LIMITS.leaseRetryPeriodMs;
    this.#setMaster(0);
  }

  /** Returns the current leader as last seen, or undefined if there is none or nothing has been seen yet. */
  leader(): Leader | undefined {
    return leaseLeader(this.#observed?.lease);
  }

  /**
   * Takes part in the election until the signal aborts. Resolves when the work of the last term has ended and the lease is
   * released.
   */
  async run(callbacks: LeaderCallbacks): Promise<void> {
    const { signal } = callbacks;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const acquired = await this.#tryAcquire(callbacks);
        failures = 0;
        if (acquired !== undefined) await this.#lead(acquired, callbacks);
      } catch (error) {
        failures += 1;
        if (failures % 30 === 1) {
          this.#options.logger.warn({ lease: this.#options.name, err: error }, 'could not join the leader election');
        }
      }
      // Jitter as in client-go, so that the candidates do not call in step.
      await this.#clock.sleep(this.#retryMs * (1 + this.#clock.random() * 0.2), signal);
    }
  }

  /**
   * Takes the lease if it is free. Resolves with the lease and the time before it was written if this process now holds it, and
   * with undefined otherwise.
   */
  async #tryAcquire(callbacks: LeaderCallbacks): Promise<{ lease: Lease; since: number } | undefined> {
    const call = this.#call(this.#deadlineMs / 2, callbacks.signal);
    this.#observe(await this.#store.read(call), callbacks);
    const lease = this.#observed?.lease;
    if (!this.#mayTake(lease)) return undefined;
    const since = this.#clock.now();
    const now = this.#clock.date();
    const written = await this.#store.write(
      this.#held(lease, {
        acquireTime: microTime(now),
        leaseTransitions: lease === undefined ? firstEpoch(now) : (lease.spec.leaseTransitions ?? 0) + 1,
      }),
      this.#call(this.#deadlineMs / 2),
    );
    if (written === undefined) return undefined;
    this.#observe(written, callbacks);
    return { lease: written, since };
  }

  #mayTake(lease: Lease | undefined): boolean {
    const holder = lease?.spec.holderIdentity;
    if (holder === undefined || holder === '' || holder === this.identity) return true;
    const durationMs = (lease?.spec.leaseDurationSeconds ?? this.#durationMs / 1_000) * 1_000;
    return this.#clock.now() - (this.#observed?.at ?? 0) > durationMs;
  }

  async #lead(acquired: { lease: Lease; since: number }, callbacks: LeaderCallbacks): Promise<void> {
    const { logger, name } = this.#options;
    const term = new AbortController();
    const epoch = acquired.lease.spec.leaseTransitions ?? 0;
    logger.info({ lease: name, identity: this.identity, epoch }, 'leading');
    this.#setMaster(1);
    const deadline = this.#deadline(acquired.since, term);
    const remainingMs = (): number => (term.signal.aborted ? 0 : deadline.remainingMs());
    const work = Promise.resolve()
      .then(() => callbacks.onStartedLeading({ epoch, signal: term.signal, remainingMs }))
      .catch((error: unknown) => {
        if (term.signal.aborted) return;
        logger.error({ lease: name, epoch, err: error }, 'leader failed, releasing the lease');
        term.abort(error);
      });
    const lease = await this.#renewUntilLost(acquired.lease, { term, callbacks, deadline });
    this.#setMaster(0);
    logger.info({ lease: name, identity: this.identity, epoch }, 'no longer leading');
    // Release the lease and become able to lead again only after all work of this term has ended.
    await work;
    if (lease !== undefined) await this.#release(lease, callbacks);
  }

  /**
   * Renews the lease until it is lost or the term must end, then aborts the term. Resolves with the lease if this process still
   * holds it, or with undefined if the lease is lost.
   */
  async #renewUntilLost(
    acquired: Lease,
    { term, callbacks, deadline }: { term: AbortController; callbacks: LeaderCallbacks; deadline: Deadline },
  ): Promise<Lease | undefined> {
    let lease = acquired;
    const stop = AbortSignal.any([term.signal, callbacks.signal]);
    try {
      for (;;) {
        await this.#clock.sleep(this.#retryMs, stop);
        if (term.signal.aborted && deadline.passed()) return undefined;
        if (stop.aborted) return lease;
        const startedAt = this.#clock.now();
        const renewed = await this.#renew(lease, callbacks, deadline.remainingMs());
        if (renewed === 'lost') return undefined;
        if (renewed === 'failed') continue;
        lease = renewed;
        // Use the time before the write was sent, because the time at which other candidates see the write is always later.
        deadline.moveTo(startedAt);
      }
    } finally {
      deadline.cancel();
      term.abort(new DOMException('no longer the leader', 'AbortError'));
    }
  }

  /**
   * Aborts the term if the lease has not been renewed before the deadline. Uses a separate timer, because a hanging renewal must
   * not keep the term alive.
   */
  #deadline(since: number, term: AbortController): Deadline {
    let from = since;
    let timer: NodeJS.Timeout | undefined;
    const remainingMs = () => from + this.#deadlineMs - this.#clock.now();
    const expire = () => {
      this.#options.logger.warn({ lease: this.#options.name }, 'could not renew the lease in time');
      term.abort(new DOMException('could not renew the lease in time', 'AbortError'));
    };
    const arm = () => {
      clearTimeout(timer);
      timer = setTimeout(expire, Math.max(0, remainingMs()));
    };
    arm();
    return {
      remainingMs,
      passed: () => remainingMs() <= 0,
      moveTo: (time: number) => {
        from = time;
        if (!term.signal.aborted) arm();
      },
      cancel: () => clearTimeout(timer),
    };
  }

  async #renew(lease: Lease, callbacks: LeaderCallbacks, remainingMs: number): Promise<Lease | 'lost' | 'failed'> {
    // Two attempts are possible before the deadline even if the first one hangs.
    const call = this.#call(Math.max(1, Math.min(remainingMs, this.#deadlineMs / 2)));
    try {
      const written = await this.#store.write(this.#held(lease, {}), call);
      if (written !== undefined) {
        this.#observe(written, callbacks);
        return written;
      }
      // Another write was first: a user changed an annotation or deleted the lease, there is a new leader, or this process's
      // earlier attempt succeeded, but its response was lost.
      const current = await this.#store.read(call);
      this.#observe(current, callbacks);
      if (current !== undefined && current.spec.holderIdentity !== this.identity) return 'lost';
      return (await this.#store.write(this.#held(current ?? withoutVersion(lease), {}), call)) ?? 'failed';
    } catch (error) {
      this.#options.logger.debug({ lease: this.#options.name, err: error }, 'could not renew the lease');
      return 'failed';
    }
  }

  async #release(lease: Lease, callbacks: LeaderCallbacks): Promise<void> {
    const spec = { leaseDurationSeconds: RELEASED_SECONDS, renewTime: microTime(this.#clock.date()) };
    const { leaseTransitions = 0, acquireTime } = lease.spec;
    const released = { ...spec, leaseTransitions, ...(acquireTime === undefined ? {} : { acquireTime }) };
    const metadata = { ...lease.metadata, annotations: annotationsWith(lease, undefined) };
    try {
      const written = await this.#store.write({ ...lease, metadata, spec: released }, this.#call(2_000));
      if (written !== undefined) this.#observe(written, callbacks);
    } catch (error) {
      // The lease will expire by itself.
      this.#options.logger.debug({ lease: this.#options.name, err: error }, 'could not release the lease');
    }
  }

  /** Returns the lease as held by this process, with the current renewal time. */
  #held(lease: Lease | undefined, spec: Partial<Lease['spec']>): Lease {
    const { name, namespace, url } = this.#options;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { ...lease?.metadata, name, namespace, annotations: annotationsWith(lease, url) },
      spec: {
        ...lease?.spec,
        ...spec,
        holderIdentity: this.identity,
        leaseDurationSeconds: Math.ceil(this.#durationMs / 1_000),
        renewTime: microTime(this.#clock.date()),
      },
    };
  }

  #observe(lease: Lease | undefined, callbacks: LeaderCallbacks): void {
    const changed =
      this.#observed === undefined ||
      this.#observed.lease?.metadata.resourceVersion !== lease?.metadata.resourceVersion;
    if (changed) this.#observed = { lease, at: this.#clock.now() };
    const leader = this.leader();
    if (leader === undefined || leader.identity === this.#reported) return;
    this.#reported = leader.identity;
    this.#options.logger.info({ lease: this.#options.name, leader: leader.identity, url: leader.url }, 'new leader');
    try {
      callbacks.onNewLeader?.(leader);
    } catch (error) {
      this.#options.logger.error({ lease: this.#options.name, err: error }, 'onNewLeader threw');
    }
  }

  #call(timeoutMs: number, signal?: AbortSignal): CallOptions {
    // Use separate connections, no rate limit and no retries, because a renewal must not wait behind status writes.
    return { lane: 'own', once: true, timeoutMs, ...(signal && { signal }) };
  }

  #setMaster(value: 0 | 1): void {
    const { registry, name } = this.#options;
    if (registry !== undefined) leaderMetrics(registry).master.set({ name }, value);
  }
}
