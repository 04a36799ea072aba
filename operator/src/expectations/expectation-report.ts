import { countRangeText, formatShortTime, type ExpectationPhase } from '@standin/contract';
import type { ExpectationStatus } from '@standin/crds';
import { operationConditions, type Progress } from '../operations/operation-conditions.ts';
import { requests } from '../purge/purge-report.ts';
import { nextCondition, type ConditionContext } from '../status/conditions.ts';
import type { StatusFields } from '../status/status-writer.ts';
import { ACCEPTED } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';
import type { ExpectedCount } from './decide.ts';
import type { TimeRange } from './plan-expectation.ts';

/** How an Expectation ended. */
export interface Outcome {
  readonly kind: 'met' | 'unmet';
  readonly matched: number;
  readonly requestIds: readonly string[];
  readonly nearMisses: NonNullable<ExpectationStatus['nearMisses']>;
}

/** The facts from which `expectationStatus` computes the status of an Expectation. */
export interface ExpectationFacts {
  readonly phase: ExpectationPhase;
  readonly accepted: Finding;
  readonly progress: Progress;
  readonly range?: TimeRange;
  readonly outcome?: Outcome;
}

/** Returns the facts for an Expectation whose requests cannot be counted yet. */
export const pending = (finding: Finding, range: TimeRange): ExpectationFacts => ({
  phase: 'Pending',
  accepted: finding,
  progress: { type: 'Reconciling', reason: 'Waiting', message: finding.message },
  range,
});

/** Returns the facts for an Expectation whose requests are counted, with what prevents a decision after the deadline. */
export const open = (range: TimeRange, expected: ExpectedCount, obstacle?: string): ExpectationFacts => ({
  phase: 'Open',
  accepted: ACCEPTED,
  progress:
    obstacle === undefined
      ? {
          type: 'Reconciling',
          reason: 'Running',
          message: `Counting requests until ${formatShortTime(range.untilUs)}. Expected: ${countRangeText(expected)}.`,
        }
      : { type: 'Reconciling', reason: 'Waiting', message: obstacle },
  range,
});

export const decided = (range: TimeRange, expected: ExpectedCount, outcome: Outcome): ExpectationFacts => {
  const matched = outcome.matched === 0 ? 'No request' : requests(outcome.matched);
  const message = `${matched} matched. Expected: ${countRangeText(expected)}.`;
  return {
    phase: outcome.kind === 'met' ? 'Met' : 'Unmet',
    accepted: ACCEPTED,
    progress:
      outcome.kind === 'met' ? { type: 'Met', reason: 'Met', message } : { type: 'Failed', reason: 'Unmet', message },
    range,
    outcome,
  };
};

/** Returns the facts for an Expectation whose number of requests could not be determined. */
export const undetermined = (accepted: Finding, message: string, range?: TimeRange): ExpectationFacts => ({
  phase: 'Undetermined',
  accepted,
  progress: { type: 'Failed', reason: 'Undetermined', message },
  ...(range !== undefined && { range }),
});

export const expectationStatus = (
  { phase, accepted, progress, range, outcome }: ExpectationFacts,
  context: ConditionContext,
): StatusFields => {
  const { reason, message } = progress;
  const isDecided = progress.type !== 'Reconciling';
  return {
    observedGeneration: context.generation,
    phase,
    ...(range !== undefined && { from: formatShortTime(range.fromUs), until: formatShortTime(range.untilUs) }),
    ...(outcome !== undefined && { matched: outcome.matched }),
    ...(outcome !== undefined && outcome.requestIds.length > 0 && { requestIds: outcome.requestIds }),
    ...(outcome !== undefined && outcome.nearMisses.length > 0 && { nearMisses: outcome.nearMisses }),
    ...(isDecided && { decidedAt: context.now }),
    conditions: [
      ...operationConditions(accepted, progress, context),
      nextCondition('Decided', { ok: isDecided, reason, message }, context),
    ],
  };
};
