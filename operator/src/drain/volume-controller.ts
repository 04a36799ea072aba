import { LIMITS } from '@standin/contract';
import { WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Controller } from '../controller.ts';
import { ClaimActions, drainedFor } from './volume-claim-actions.ts';
import { judgeClaim, type ClaimVerdict } from './judge-volume-claim.ts';
import type { Claim } from './kube-objects.ts';
import { VolumeWatch, type VolumePlace } from './volume-watch.ts';

/** The gateways' volumes, and how they are drained. */
export interface SpoolVolumes extends VolumePlace {
  /** File with the Job template. */
  readonly jobTemplate: string;
  /** A claim without a pod for this long is considered orphaned. */
  readonly quietMs: number;
}

export interface VolumeControllerOptions extends SpoolVolumes {
  readonly logger: Logger;
  readonly registry?: Registry | undefined;
}

export type ClaimState = ClaimVerdict['kind'];

/** The facts that this leader has learned about a claim since a pod last used the claim. */
interface Unused {
  /** A new claim with the same name is another volume. */
  readonly claimUid: string | undefined;
  /** A time as returned by `performance.now()`. */
  readonly since: number;
  /** The uids of the Jobs that this leader created. */
  readonly jobs: Set<string>;
  isDrained: boolean;
}

const BACKOFF = { baseMs: 500, capMs: 60_000 };

/**
 * Creates a Job to drain the volume of each gateway that was scaled down. Runs for one leader's term. Never deletes a
 * volume.
 */
export class VolumeController implements Controller {
  readonly name = 'spool-volumes';
  readonly #options: VolumeControllerOptions;
  readonly #queue: WorkQueue;
  readonly #volumes: VolumeWatch;
  readonly #actions: ClaimActions;
  readonly #stopping = new AbortController();
  /** The facts about the unused claims, by claim name. */
  readonly #unused = new Map<string, Unused>();
  readonly #states = new Map<string, ClaimState>();
  #watching: Promise<void> | undefined;

  constructor(options: VolumeControllerOptions) {
    this.#options = options;
    const { registry } = options;
    const logger = options.logger.child({ stage: 'drain' });
    this.#actions = new ClaimActions({ ...options, logger });
    this.#queue = new WorkQueue({
      name: this.name,
      backoff: BACKOFF,
      registry,
      logger,
      about: (name) => ({ namespace: options.namespace, name }),
      reconcile: async (name) => {
        const requeueAfterMs = await this.#reconcile(name);
        return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
      },
    });
    this.#volumes = new VolumeWatch({
      ...options,
      logger,
      onChange: (claims) => {
        for (const name of claims) this.#queue.add(name);
      },
      onUsed: (name) => this.#unused.delete(name),
    });
  }

  start(): void {
    this.#watching = this.#volumes.run(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#queue.stop(), this.#watching]);
  }

  /**
   * Returns descriptions of the claims that may hold requests which are not in the log. Omits claims in use by a gateway for which
   * `isTracked` returns true. Returns undefined until the claims are known.
   */
  undelivered(isTracked: (gateway: string) => boolean): readonly string[] | undefined {
    return this.#volumes.gateways?.flatMap(({ claim, gateway }) => {
      if (this.#volumes.isUsed(claim)) return isTracked(gateway) ? [] : [`gateway ${gateway}, which is not connected`];
      const isEmpty = ['drained', 'deleted'].includes(this.#states.get(claim) ?? '');
      return isEmpty ? [] : [`volume ${claim}, which is not drained`];
    });
  }

  /** Returns whether the gateway has a claim that no pod uses. */
  hasUnused(gateway: string): boolean {
    return this.#volumes.gateways?.some((one) => one.gateway === gateway && !this.#volumes.isUsed(one.claim)) ?? false;
  }

  /** The state of each claim at its last check, by claim name. */
  get states(): ReadonlyMap<string, ClaimState> {
    return this.#states;
  }

  /**
   * Does what the claim needs now. Resolves with the delay until the next check, or with undefined if only a change requires one.
   */
  async #reconcile(name: string): Promise<number | undefined> {
    const claim = this.#volumes.claim(name);
    if (claim === undefined) {
      this.#unused.delete(name);
      this.#states.delete(name);
      return undefined;
    }
    const unused = this.#unusedVolume(claim);
    const { use } = this.#volumes;
    const verdict = this.#judge(claim, unused);
    const before = this.#states.get(name);
    this.#states.set(name, verdict.kind);
    switch (verdict.kind) {
      case 'used':
        for (const job of verdict.stop) await this.#actions.stop(claim, job);
        if (verdict.isMarked) await this.#actions.forget(claim);
        break;
      case 'quiet':
        return verdict.afterMs;
      case 'start': {
        const job = await this.#actions.start(claim, use);
        if (job !== undefined) unused.jobs.add(job);
        break;
      }
      case 'finished':
        await this.#actions.finish(claim, verdict.job, use);
        unused.isDrained = true;
        this.#states.set(name, 'drained');
        break;
      case 'failed':
        if (before !== 'failed') await this.#actions.reportFailure(claim, verdict.job);
        break;
      case 'drained':
        unused.isDrained = true;
        break;
      case 'deleted':
      case 'expected':
      case 'queued':
      case 'draining':
    }
    return undefined;
  }

  #judge(claim: Claim, unused: Unused): ClaimVerdict {
    const { name, deletionTimestamp } = claim.metadata;
    const volumes = this.#volumes;
    const facts = {
      isDeleting: deletionTimestamp !== undefined,
      isUsed: volumes.isUsed(name),
      isWanted: volumes.isWanted(name),
      use: volumes.use,
      drainedFor: drainedFor(claim),
      isKnownDrained: unused.isDrained,
      unusedMs: performance.now() - unused.since,
      jobs: volumes.drainJobs(claim),
      knownJobs: unused.jobs,
    };
    return judgeClaim(facts, {
      quietMs: this.#options.quietMs,
      freeJobs: LIMITS.drainJobsMax - volumes.runningJobs,
    });
  }

  #unusedVolume({ metadata: { name, uid: claimUid } }: Claim): Unused {
    const known = this.#unused.get(name);
    if (known !== undefined && known.claimUid === claimUid) return known;
    const unused = { claimUid, since: performance.now(), jobs: new Set<string>(), isDrained: false };
    if (!this.#volumes.isUsed(name)) this.#unused.set(name, unused);
    return unused;
  }
}
