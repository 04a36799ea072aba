import { LIMITS, type Kind, type Objects, type ResourceObject } from '@standin/contract';
import { parseObject } from '@standin/crds';
import { WorkQueue, type ReconcileResult } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { aboutObject } from '../about-object.ts';
import type { Controller } from '../controller.ts';
import { deleteObject, isTracked } from '../delete-object.ts';
import type { CachedObjects } from '../object-cache.ts';
import { StatusWriter } from '../status/status-writer.ts';
import { endedOperation } from './operation-conditions.ts';

export interface EndedOperationsControllerOptions {
  readonly objects: Pick<Objects, 'writeStatus' | 'delete'>;
  readonly cache: CachedObjects;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock?: () => number;
}

const KINDS: ReadonlySet<Kind> = new Set(['Replay', 'KeyRegeneration']);
const WORKERS = 3;
const BACKOFF = { baseMs: 200, capMs: 30_000 };

/** Returns how many seconds an operation is kept after its end. */
const ttlSecondsOf = (operation: ResourceObject): number => {
  const parsed = parseObject(operation);
  const ttlSeconds =
    parsed.ok && 'ttlSecondsAfterFinished' in parsed.value.spec ? parsed.value.spec.ttlSecondsAfterFinished : undefined;
  return ttlSeconds ?? LIMITS.operationTtlSecondsDefault;
};

/**
 * Deletes Replays and KeyRegenerations after their time to live, which begins when they end. Keeps those that GitOps tools or Helm
 * manage. Runs for one leader's term. Changes to the spec of an ended operation have no effect on its result, but the status reports the
 * new generation.
 */
export class EndedOperationsController implements Controller {
  readonly name = 'ended-operations';
  readonly #options: EndedOperationsControllerOptions;
  readonly #queue: WorkQueue;
  readonly #writer: StatusWriter;

  constructor(options: EndedOperationsControllerOptions) {
    this.#options = options;
    const { objects, cache, registry, logger } = options;
    this.#writer = new StatusWriter(objects);
    this.#queue = new WorkQueue({
      name: this.name,
      concurrency: WORKERS,
      backoff: BACKOFF,
      registry,
      logger: logger.child({ stage: 'operations' }),
      about: (uid) => aboutObject(cache, uid),
      reconcile: (uid) => this.#reconcile(uid),
    });
  }

  start(): void {
    for (const object of this.#options.cache.values()) this.changed(object);
  }

  changed(object: ResourceObject): void {
    if (KINDS.has(object.kind) && endedOperation(object) !== undefined) this.#queue.add(object.metadata.uid);
  }

  removed({ metadata: { uid } }: ResourceObject): void {
    this.#writer.forget(uid);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #reconcile(uid: string): Promise<ReconcileResult | undefined> {
    const { objects, cache, clock = Date.now } = this.#options;
    const seen = cache.get(uid);
    if (seen === undefined) return undefined;
    const operation = this.#writer.newest(seen);
    const ended = endedOperation(operation);
    if (ended === undefined) return undefined;
    // The API server accepts invalid times, for example times with the offset +99:99. Such a time is replaced with the current
    // time, so the operation is kept unless its time to live is 0.
    const endedAt = Date.parse(ended.endedAt);
    const leftMs = (Number.isNaN(endedAt) ? clock() : endedAt) + ttlSecondsOf(operation) * 1_000 - clock();
    if (leftMs <= 0 && !isTracked(operation)) {
      await deleteObject(objects, operation);
      return undefined;
    }
    await this.#writer.write(operation, {
      observedGeneration: operation.metadata.generation,
      conditions: ended.conditions,
    });
    return isTracked(operation) ? undefined : { requeueAfterMs: leftMs };
  }
}
