/** Which state of the gateways' StatefulSet a claim was drained in: a claim beyond its replicas cannot be used before that changes. */
export type Use = string;

export type JobState = 'running' | 'succeeded' | 'failed';

/** A Job that was made for a claim. */
export interface DrainJob {
  readonly name: string;
  readonly uid: string;
  readonly use: Use;
  readonly state: JobState;
  /** Undefined until it ended well. */
  readonly completedAt: string | undefined;
}

/** All that is known of a gateway's volume and of who uses it. */
export interface ClaimFacts {
  readonly isDeleting: boolean;
  /** A pod that is no drain Job's has the claim, or waits for it. */
  readonly isUsed: boolean;
  /** The StatefulSet has, or is about to have, a pod for it. */
  readonly isWanted: boolean;
  readonly use: Use;
  /** What the claim itself says: drained in that state. */
  readonly drainedFor: Use | undefined;
  /** Drained, as this leader knows, which has seen no pod with it since. */
  readonly isKnownDrained: boolean;
  /** For how long this leader has seen no pod with it. */
  readonly unusedMs: number;
  readonly jobs: readonly DrainJob[];
  /** Jobs that this leader made since it last saw a pod with the claim, by uid. */
  readonly knownJobs: ReadonlySet<string>;
}

export interface DrainBounds {
  readonly quietMs: number;
  /** Jobs that may still be started. */
  readonly freeJobs: number;
}

export type ClaimVerdict =
  /** Nothing to do: it is being deleted. */
  | { readonly kind: 'deleted' }
  /** Its gateway delivers what is on it; a Job beside it would only keep the volume from another node. */
  | { readonly kind: 'used'; readonly stop: readonly DrainJob[]; readonly isMarked: boolean }
  /** Its gateway is about to come. */
  | { readonly kind: 'expected' }
  | { readonly kind: 'quiet'; readonly afterMs: number }
  | { readonly kind: 'queued' }
  | { readonly kind: 'start' }
  | { readonly kind: 'draining'; readonly job: DrainJob }
  /** The claim does not say yet that it is drained. */
  | { readonly kind: 'finished'; readonly job: DrainJob }
  | { readonly kind: 'drained' }
  | { readonly kind: 'failed'; readonly job: DrainJob };

/**
 * What is to be done about a gateway's volume. Pure, and level-based: whatever was missed in between, the facts lead to the same end. At most one
 * Job of a claim runs; one that ended counts until a pod may have used the claim again.
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
