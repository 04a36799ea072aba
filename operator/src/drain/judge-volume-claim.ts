/**
 * The state of the gateways' StatefulSet in which a claim was drained. A claim beyond its replicas cannot be used until the state
 * changes.
 */
export type Use = string;

export type JobState = 'running' | 'succeeded' | 'failed';

/** A drain Job of a claim. */
export interface DrainJob {
  readonly name: string;
  readonly uid: string;
  readonly use: Use;
  readonly state: JobState;
  /** Undefined until it completes successfully. */
  readonly completedAt: string | undefined;
}

/** Everything known about a gateway's volume and its users. */
export interface ClaimFacts {
  readonly isDeleting: boolean;
  /** A pod other than a drain Job's uses the claim, or waits for it. */
  readonly isUsed: boolean;
  /** The StatefulSet has, or is about to create, a pod for it. */
  readonly isWanted: boolean;
  readonly use: Use;
  /** According to the claim's annotation, it was drained in this state. */
  readonly drainedFor: Use | undefined;
  /** This leader knows that the claim is drained, and has seen no pod with it since. */
  readonly isKnownDrained: boolean;
  /** How long this leader has seen no pod with it. */
  readonly unusedMs: number;
  readonly jobs: readonly DrainJob[];
  /** Uids of Jobs that this leader created since it last saw a pod with the claim. */
  readonly knownJobs: ReadonlySet<string>;
}

export interface DrainBounds {
  readonly quietMs: number;
  /** How many more Jobs may start. */
  readonly freeJobs: number;
}

export type ClaimVerdict =
  /** Nothing to do: the claim is being deleted. */
  | { readonly kind: 'deleted' }
  /** Its gateway delivers the rows on the volume. A Job would only keep the volume from another node. */
  | { readonly kind: 'used'; readonly stop: readonly DrainJob[]; readonly isMarked: boolean }
  /** Its gateway is about to start. */
  | { readonly kind: 'expected' }
  | { readonly kind: 'quiet'; readonly afterMs: number }
  | { readonly kind: 'queued' }
  | { readonly kind: 'start' }
  | { readonly kind: 'draining'; readonly job: DrainJob }
  /** The claim is not annotated as drained yet. */
  | { readonly kind: 'finished'; readonly job: DrainJob }
  | { readonly kind: 'drained' }
  | { readonly kind: 'failed'; readonly job: DrainJob };

/**
 * Decides what to do with a gateway's volume. Pure and level-based: the result depends only on the current facts, not on missed
 * events. At most one Job per claim runs. A Job that ended counts until a pod may have used the claim again.
 */
export const judgeClaim = (facts: ClaimFacts, { quietMs, freeJobs }: DrainBounds): ClaimVerdict => {
  const { isDeleting, isUsed, isWanted, use, drainedFor, jobs } = facts;
  const running = jobs.filter(({ state }) => state === 'running');
  if (isDeleting) return { kind: 'deleted' };
  if (isUsed) return { kind: 'used', stop: running, isMarked: drainedFor !== undefined };
  if (isWanted) return { kind: 'expected' };
  const [job] = running;
  if (job !== undefined) return { kind: 'draining', job };

  if (drainedFor === use || facts.isKnownDrained) return { kind: 'drained' };
  const ended = jobs.filter((candidate) => candidate.use === use || facts.knownJobs.has(candidate.uid));
  const succeeded = ended.find(({ state }) => state === 'succeeded');
  if (succeeded !== undefined) return { kind: 'finished', job: succeeded };
  const failed = ended.find(({ state }) => state === 'failed');
  if (failed !== undefined) return { kind: 'failed', job: failed };

  if (facts.unusedMs < quietMs) return { kind: 'quiet', afterMs: quietMs - facts.unusedMs };
  return { kind: freeJobs > 0 ? 'start' : 'queued' };
};
