import { LIMITS, type Objects, type ResourceObject } from '@standin/contract';
import { parseObject } from '@standin/crds';
import type { Controller } from '../controller.ts';
import { deleteObject, isTracked } from '../delete-object.ts';
import { reconciler, type ReconcilerParts } from '../reconciler.ts';
import { endedOperation } from './operation-conditions.ts';

export interface EndedOperationsControllerOptions extends ReconcilerParts {
  readonly objects: Pick<Objects, 'writeStatus' | 'delete'>;
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock?: () => number;
}

const operationTtlSeconds = (operation: ResourceObject): number => {
  const parsed = parseObject(operation);
  const ttlSeconds =
    parsed.ok && 'ttlSecondsAfterFinished' in parsed.value.spec ? parsed.value.spec.ttlSecondsAfterFinished : undefined;
  return ttlSeconds ?? LIMITS.operationTtlSecondsDefault;
};

/**
 * Deletes Replays, KeyRegenerations and Expectations after their time to live, which begins when they end. Keeps those that GitOps tools or Helm
 * manage. Runs for one leader's term. Changes to the spec of an ended operation have no effect on its result, but the status reports the
 * new generation.
 */
export const endedOperationsController = (options: EndedOperationsControllerOptions): Controller => {
  const { objects, clock = Date.now } = options;
  return reconciler(options, {
    name: 'ended-operations',
    stage: 'operations',
    kinds: ['Replay', 'KeyRegeneration', 'Expectation'],
    concurrency: 3,
    backoff: { baseMs: 200, capMs: 30_000 },
    when: ({ object }) => endedOperation(object) !== undefined,
    reconcile: async (operation, { writeStatus }) => {
      const ended = endedOperation(operation);
      if (ended === undefined) return undefined;
      // The API server accepts invalid times, for example times with the offset +99:99. Such a time is replaced with the current
      // time, so the operation is kept unless its time to live is 0.
      const endedAt = Date.parse(ended.endedAt);
      const leftMs = (Number.isNaN(endedAt) ? clock() : endedAt) + operationTtlSeconds(operation) * 1_000 - clock();
      if (leftMs <= 0 && !isTracked(operation)) {
        await deleteObject(objects, operation);
        return undefined;
      }
      await writeStatus({ observedGeneration: operation.metadata.generation, conditions: ended.conditions });
      return isTracked(operation) ? undefined : { requeueAfterMs: leftMs };
    },
  });
};
