import {
  isRecord,
  listText,
  type ConditionReason,
  type RegenerationPhase,
  type ResourceObject,
} from '@standin/contract';
import type { ProgrammedState } from '../gateways/gateway-record.ts';
import { operationConditions, type Progress } from '../operations/operation-conditions.ts';
import type { ConditionContext } from '../status/conditions.ts';
import type { StatusFields } from '../status/status-writer.ts';
import { ACCEPTED, fails } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';

/** The facts from which `regenerationStatus` computes the status of a KeyRegeneration. */
export interface RegenerationFacts {
  readonly phase: RegenerationPhase;
  readonly accepted: Finding;
  readonly progress: Progress;
  readonly acknowledged?: string;
  readonly waitingFor?: readonly string[];
  /** The time when the regeneration completed, in RFC 3339 format. */
  readonly completedAt?: string;
  readonly windowResetsAt?: string | undefined;
}

const GATEWAYS_NAMED_MAX = 32;

const running = (
  message: string,
  more: Pick<RegenerationFacts, 'acknowledged' | 'waitingFor'> = {},
): RegenerationFacts => ({
  phase: 'Running',
  accepted: ACCEPTED,
  progress: { type: 'Reconciling', reason: 'Running', message },
  ...more,
});

/** Returns the facts for a regeneration that cannot begin yet. */
export const pending = (reason: ConditionReason, message: string): RegenerationFacts => ({
  phase: 'Pending',
  accepted: fails(reason, message),
  progress: { type: 'Reconciling', reason: 'Waiting', message },
});

/** Returns the facts for a regeneration that is rejected permanently. Nothing was changed. */
export const refused = (reason: ConditionReason, message: string, windowResetsAt?: string): RegenerationFacts => ({
  phase: 'Refused',
  accepted: fails(reason, message),
  progress: { type: 'Failed', reason: 'Failed', message },
  windowResetsAt,
});

export const WRITING = running('The new key is being written.');

/**
 * Returns the progress of the new key at the gateways.
 *
 * @param known the number of gateways that may answer callers
 * @param now the current time in RFC 3339 format
 */
export const regenerationFacts = (state: ProgrammedState, known: number, now: string): RegenerationFacts => {
  switch (state.kind) {
    case 'programmed':
    case 'no-gateway': {
      const message =
        known === 0
          ? 'The operator knows of no gateways, so none accepts the old key.'
          : 'No gateway accepts the old key.';
      return {
        phase: 'Completed',
        accepted: ACCEPTED,
        progress: { type: 'Complete', reason: 'Succeeded', message },
        acknowledged: `${known}/${known}`,
        completedAt: now,
      };
    }
    case 'waiting': {
      const named = state.gateways.slice(0, GATEWAYS_NAMED_MAX);
      const more = state.gateways.length > named.length ? [`${state.gateways.length - named.length} more`] : [];
      const message = `The old key may still be accepted by ${listText([...named, ...more])}.`;
      const acknowledged = `${state.known - state.gateways.length}/${state.known}`;
      return running(message, { acknowledged, waitingFor: named });
    }
    case 'rejected':
      return running(`Gateway ${state.gateway} cannot use the Account: ${state.message}`, {
        waitingFor: [state.gateway],
      });
  }
};

/** Reads only the phase, because an Account may have many thousands of ended regenerations. */
export const isOver = ({ status }: Pick<ResourceObject, 'status'>): boolean =>
  isRecord(status) && (status['phase'] === 'Completed' || status['phase'] === 'Refused');

export const regenerationStatus = (facts: RegenerationFacts, context: ConditionContext): StatusFields => {
  const { phase, accepted, progress, acknowledged, waitingFor, completedAt, windowResetsAt } = facts;
  const refusedAt = phase === 'Refused' ? context.now : undefined;
  return {
    observedGeneration: context.generation,
    phase,
    acknowledged,
    waitingFor,
    completedAt,
    refusedAt,
    windowResetsAt,
    conditions: operationConditions(accepted, progress, context),
  };
};
