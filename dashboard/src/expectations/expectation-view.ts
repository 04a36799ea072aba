import type { ExpectationPhase, ResourceObject } from '@standin/contract';
import { progressIn, readStatus, type ExpectationSpec, type ExpectationStatus } from '@standin/crds';
import { shownConditions, type ShownCondition } from '../resources/resource-view.ts';
import { validSpec } from '../resources/specs.ts';

/** An Expectation as shown on pages. */
export interface ExpectationView extends Pick<ExpectationStatus, 'from' | 'until' | 'matched'> {
  readonly expectation: string;
  readonly uid: string;
  readonly generation: number;
  readonly createdAt: string;
  /** Empty if all requests count. */
  readonly search: string;
  readonly count: ExpectationSpec['count'];
  /** How long after the creation the time range ends, such as `2m`. */
  readonly deadline: string;
  readonly phase: ExpectationPhase;
  readonly requestIds: readonly string[];
  readonly nearMisses: NonNullable<ExpectationStatus['nearMisses']>;
  readonly conditions: readonly ShownCondition[];
  /** What the operator waits for, or why the expectation is not met. */
  readonly message: string;
}

export const toExpectationView = (object: ResourceObject): ExpectationView => {
  const { name, uid, generation, creationTimestamp } = object.metadata;
  const spec = validSpec('Expectation', object);
  const { phase = 'Pending', requestIds = [], nearMisses = [], ...status } = readStatus('Expectation', object.status);
  const conditions = shownConditions(object);
  return {
    expectation: name,
    uid,
    generation,
    createdAt: creationTimestamp,
    search: spec?.filter?.search ?? '',
    count: spec?.count ?? {},
    deadline: spec?.deadline ?? '',
    phase,
    from: status.from,
    until: status.until,
    matched: status.matched,
    requestIds,
    nearMisses,
    conditions,
    message: progressIn(conditions)?.message ?? 'Waiting for the operator.',
  };
};
