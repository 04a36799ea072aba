import type { PurgePhase, ResourceObject } from '@standin/contract';
import { progressIn, readStatus, type PurgeSpec } from '@standin/crds';
import { purgeSpec } from './purges.ts';

/** A Purge as shown on pages. */
export interface PurgeView {
  readonly name: string;
  readonly uid: string;
  readonly createdAt: string;
  /** The selected requests. Without `search` and `from`, these are all requests before `to`. */
  readonly filter: Partial<PurgeSpec['filter']>;
  readonly reason: string;
  readonly phase: PurgePhase;
  /** Number of requests when the deletion began. Undefined if it has not begun. */
  readonly matched: number | undefined;
  readonly waitingFor: readonly string[];
  readonly completedAt: string | undefined;
  /** What the purge is doing, or why it was refused. */
  readonly message: string;
}

export const toPurgeView = (object: ResourceObject): PurgeView => {
  const { name, uid, creationTimestamp } = object.metadata;
  const spec = purgeSpec(object);
  const { phase = 'Pending', matched, waitingFor = [], completedAt, conditions } = readStatus('Purge', object.status);
  return {
    name,
    uid,
    createdAt: creationTimestamp,
    filter: spec?.filter ?? {},
    reason: spec?.reason ?? '',
    phase,
    matched,
    waitingFor,
    completedAt,
    message: progressIn(conditions)?.message ?? 'Waiting for the operator.',
  };
};
