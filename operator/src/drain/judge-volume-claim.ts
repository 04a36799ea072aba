/** Identifies a state of the gateways' StatefulSet. A claim beyond the replica count cannot be used until this state changes. */
export type Use = string;

export type JobState = 'running' | 'succeeded' | 'failed';

/** A Job that drains a claim. */
export interface DrainJob {
  readonly name: string;
  readonly uid: string;
  readonly use: Use;
  readonly state: JobState;
  /** Undefined until the Job has completed successfully. */
  readonly completedAt: string | undefined;
}

/** All known facts about a gateway's volume and about the pods and Jobs that use it. */
export interface ClaimFacts {
  readonly isDeleting: boolean;
  /** Whether a pod uses the claim or waits for it. Does not include pods of drain Jobs. */
  readonly isUsed: boolean;
  /** Whether the StatefulSet has a pod for the claim, or is about to create one. */
  readonly isWanted: boolean;
  readonly use: Use;
  /** The state of the StatefulSet for which the claim was drained, according to the claim's annotation. */
  readonly drainedFor: Use | undefined;
  /** Whether this leader knows that the claim was drained, and has seen no pod with the claim since then. */
  readonly isKnownDrained: boolean;
  /** For how long this leader has seen no pod with the claim. */
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
  /** There is nothing to do because the claim is being deleted. */
  | { readonly kind: 'deleted' }
  /**
   * The claim's gateway delivers the rows on the volume. The Jobs in `stop` must be deleted, because they would only prevent the
   * volume from moving to another node. With `isMarked`, the claim is still annotated as drained.
   */
  | { readonly kind: 'used'; readonly stop: readonly DrainJob[]; readonly isMarked: boolean }
  /** The StatefulSet is about to create the pod that uses the claim. */
  | { readonly kind: 'expected' }
  | { readonly kind: 'quiet'; readonly afterMs: number }
  | { readonly kind: 'queued' }
  | { readonly kind: 'start' }
  | { readonly kind: 'draining'; readonly job: DrainJob }
  /** The Job has succeeded, but the claim is not annotated as drained yet. */
  | { readonly kind: 'finished'; readonly job: DrainJob }
  | { readonly kind: 'drained' }
  | { readonly kind: 'failed'; readonly job: DrainJob };

/**
 * Decides what to do with a gateway's volume. The function is pure and level-based: its result depends only on the current facts,
 * not on earlier events. Each claim has at most one running Job. A finished Job counts until a pod may have used the claim again.
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
