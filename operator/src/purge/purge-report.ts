import { formatShortTime, LIMITS, phraseListText, type PurgePhase } from '@standin/contract';
import { operationConditions, type Progress } from '../operations/operation-conditions.ts';
import type { ConditionContext } from '../status/conditions.ts';
import type { StatusFields } from '../status/status-writer.ts';
import { ACCEPTED } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';

/** The facts from which `purgeStatus` computes the status of a Purge. */
export interface PurgeFacts {
  readonly phase: PurgePhase;
  readonly accepted: Finding;
  readonly progress: Progress;
  /** The number of matching requests. Undefined if unchanged. */
  readonly matched?: number;
  readonly waitingFor?: readonly string[];
  /** In microseconds since the epoch. */
  readonly beforeUs?: number;
}

/** Returns the facts for a purge that cannot begin yet. */
export const pending = (finding: Finding): PurgeFacts => ({
  phase: 'Pending',
  accepted: finding,
  progress: { type: 'Reconciling', reason: 'Waiting', message: finding.message },
});

/** Returns the facts for a purge that is rejected permanently. Nothing was deleted. */
export const refused = (finding: Finding): PurgeFacts => ({
  phase: 'Refused',
  accepted: finding,
  progress: { type: 'Failed', reason: 'Failed', message: finding.message },
});

const NAMED_MAX = 3;

/** Returns the facts for a purge that waits for gateways, volumes or Replays. */
export const waiting = (waitingFor: readonly string[], why = 'Matching requests may still arrive.'): PurgeFacts => {
  const named = waitingFor.slice(0, NAMED_MAX);
  const more = waitingFor.length > NAMED_MAX ? [`${waitingFor.length - NAMED_MAX} more`] : [];
  const message = `${why} Waiting for ${phraseListText([...named, ...more])}.`;
  return {
    phase: 'Waiting',
    accepted: ACCEPTED,
    progress: { type: 'Reconciling', reason: 'Waiting', message },
    waitingFor: waitingFor.slice(0, LIMITS.purgeWaitingForMax),
  };
};

export const running = (message: string, matched?: number): PurgeFacts => ({
  phase: 'Running',
  accepted: ACCEPTED,
  progress: { type: 'Reconciling', reason: 'Running', message },
  ...(matched !== undefined && { matched }),
});

export const completed = (matched: number): PurgeFacts => ({
  phase: 'Completed',
  accepted: ACCEPTED,
  progress: {
    type: 'Complete',
    reason: 'Succeeded',
    message: `${requests(matched)} deleted. The log has no matching request left. Backups are not affected.`,
  },
});

export const requests = (count: number): string => (count === 1 ? '1 request' : `${count} requests`);

export const purgeStatus = (facts: PurgeFacts, context: ConditionContext): StatusFields => {
  const { phase, accepted, progress, matched, waitingFor, beforeUs } = facts;
  return {
    observedGeneration: context.generation,
    phase,
    waitingFor,
    ...(beforeUs !== undefined && { before: formatShortTime(beforeUs) }),
    ...(matched !== undefined && { matched }),
    ...(phase === 'Completed' && { completedAt: context.now }),
    conditions: operationConditions(accepted, progress, context),
  };
};
