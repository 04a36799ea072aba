import {
  isRecord,
  type Condition,
  type ConditionReason,
  type ConditionType,
  type ResourceObject,
} from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import { nextCondition, type ConditionContext } from '../status/conditions.ts';
import type { Finding } from '../translate/index.ts';

/** How far an operation has progressed: not ended, succeeded, or failed. Cancelled counts as failed. */
export interface Progress {
  readonly type: Extract<ConditionType, 'Reconciling' | 'Complete' | 'Met' | 'Failed'>;
  readonly reason: ConditionReason;
  readonly message: string;
}

/** The message of conditions with the reason `NoLogStore`. */
export const NO_LOG_STORE = 'The operator has no ClickHouse server: set STANDIN_CLICKHOUSE_URL for the operator.';

/** Returns whether an operation is stalled. A cancelled one is not, because it has reached the state that its spec asks for. */
const isStalled = ({ type, reason }: Pick<Condition, 'type' | 'reason'>): boolean =>
  type === 'Failed' && reason !== 'Cancelled';

/** Returns the conditions of an operation. All except Accepted are present only while True, like the conditions of a Job (batch/v1). */
export const operationConditions = (accepted: Finding, progress: Progress, context: ConditionContext): Condition[] => {
  const { type, reason, message } = progress;
  const finding = { ok: true, reason, message };
  return [
    nextCondition('Accepted', accepted, context),
    nextCondition(type, finding, context),
    ...(isStalled(progress) ? [nextCondition('Stalled', finding, context)] : []),
  ];
};

/** How and when an operation ended. */
export interface Ended {
  /** The operation's conditions, with the operation's current generation as their `observedGeneration`. */
  readonly conditions: readonly Condition[];
  /** The time when the operation ended, in RFC 3339 format. */
  readonly endedAt: string;
}

const ENDS: ReadonlySet<ConditionType> = new Set(['Complete', 'Met', 'Failed']);
const isEnd = ({ type, status }: Condition): boolean => ENDS.has(type) && status === 'True';

/** Returns how and when an operation ended, or undefined if the operation has not ended or the object is not an operation. */
export const endedOperation = ({
  metadata,
  status,
}: Pick<ResourceObject, 'metadata' | 'status'>): Ended | undefined => {
  const conditions = conditionsIn(status).map((condition) => ({
    ...condition,
    observedGeneration: metadata.generation,
  }));
  const end = conditions.find(isEnd);
  return end && { conditions, endedAt: end.lastTransitionTime };
};

/**
 * Whether an operation waits for its Project, or may wait for it soon, because its first status is still being written. Reads only the
 * phase, because a Project may have many thousands of ended operations.
 */
export const isPending = ({ status }: Pick<ResourceObject, 'status'>): boolean => {
  const phase = isRecord(status) ? status['phase'] : undefined;
  return phase === undefined || phase === 'Pending';
};
