import type { Kind, Objects, ResourceObject } from '@standin/contract';
import { WorkQueue, type ReconcileResult, type WorkQueueOptions } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { aboutObject } from './about-object.ts';
import type { Controller } from './controller.ts';
import type { CachedObjects } from './object-cache.ts';
import { StatusWriter, type StatusFields, type StatusWrite } from './status/status-writer.ts';

interface QueueParts {
  readonly cache: Pick<CachedObjects, 'get'>;
  readonly logger: Logger;
  readonly registry: Registry;
}

interface ObjectQueueOptions extends Pick<WorkQueueOptions<string>, 'name' | 'concurrency' | 'backoff'> {
  /** The field `stage` of log lines. */
  readonly stage: string;
  readonly reconcile: WorkQueueOptions<string>['reconcile'];
}

/** Creates a queue of the uids of objects. Log lines name the object. */
export const objectQueue = ({ cache, logger, registry }: QueueParts, options: ObjectQueueOptions): WorkQueue => {
  const { stage, ...queueOptions } = options;
  const about = (uid: string) => aboutObject(cache, uid);
  return new WorkQueue({ ...queueOptions, about, registry, logger: logger.child({ stage }) });
};

/** What every controller of objects needs. */
export interface ReconcilerParts extends QueueParts {
  readonly cache: CachedObjects;
  readonly objects: Pick<Objects, 'writeStatus'>;
}

/** A report about an object. */
export interface Change {
  /** The object as it is now, or as it was when it was removed. */
  readonly object: ResourceObject;
  /** The earlier version. Undefined if the object is new or was reported as removed before, and at the start of the term. */
  readonly before: ResourceObject | undefined;
  readonly isRemoved: boolean;
  /** Whether the report only reflects the last status write of the reconciler. */
  readonly isEcho: boolean;
}

/** What a reconciliation can use. */
export interface Run {
  /** Writes the status of the object, only if it differs. See `StatusWriter.write`. */
  readonly writeStatus: (fields: StatusFields) => Promise<StatusWrite>;
  /** Whether a report has required a run since the last one, besides delays and `Reconciler.enqueue`. */
  readonly isReported: boolean;
}

export interface ReconcilerOptions extends Omit<ObjectQueueOptions, 'reconcile'> {
  readonly kinds: readonly Kind[];
  /** Returns whether the object must be reconciled. By default, every report requires it, except echoes. */
  readonly when?: (change: Change) => boolean;
  /** The objects that a report about an object concerns, besides the object itself. */
  readonly watch?: Partial<Readonly<Record<Kind, (change: Change) => Iterable<ResourceObject>>>>;
  /** Receives the newest known version of an object that exists. See `WorkQueueOptions.reconcile`. */
  readonly reconcile: (object: ResourceObject, run: Run) => Promise<ReconcileResult | undefined>;
  /** Called when an object of `kinds` was removed. */
  readonly removed?: (object: ResourceObject) => void;
  /** Called after an object of `kinds` was removed, until it resolves with undefined. An error causes a retry with backoff. */
  readonly finalize?: (object: ResourceObject) => Promise<ReconcileResult | undefined>;
}

export interface Reconciler extends Controller {
  /** Schedules a reconciliation of the object. */
  readonly enqueue: (uid: string) => void;
}

/** Creates a controller of the objects of some kinds, for one leader's term. */
export const reconciler = (
  { objects, cache, logger, registry }: ReconcilerParts,
  { kinds, when = isNews, watch = {}, reconcile, removed, finalize, ...queueOptions }: ReconcilerOptions,
): Reconciler => {
  const writer = new StatusWriter(objects);
  /** The uids of objects that a report requires to be reconciled. */
  const reported = new Set<string>();
  /** Until this is true, removals are only noted. */
  let isStarted = false;
  /** Removed objects that have not been finalized yet. */
  const gone = new Map<string, ResourceObject>();
  const queue = objectQueue(
    { cache: { get: (uid) => cache.get(uid) ?? gone.get(uid) }, logger, registry },
    {
      ...queueOptions,
      reconcile: async (uid) => {
        const isReported = reported.delete(uid);
        const seen = cache.get(uid);
        if (seen !== undefined) {
          const object = writer.newest(seen);
          return reconcile(object, { writeStatus: (fields) => writer.write(object, fields), isReported });
        }
        const last = gone.get(uid);
        const result = last && (await finalize?.(last));
        if (result === undefined && gone.get(uid) === last) gone.delete(uid);
        return result;
      },
    },
  );
  const report = ({ metadata: { uid } }: ResourceObject): void => {
    reported.add(uid);
    queue.add(uid);
  };
  const notice = (change: Change): void => {
    const { object } = change;
    if (kinds.includes(object.kind) && (change.isRemoved ? finalize !== undefined : when(change))) report(object);
    for (const concerned of watch[object.kind]?.(change) ?? []) report(concerned);
  };
  return {
    name: queueOptions.name,
    start: () => {
      isStarted = true;
      for (const object of gone.values()) report(object);
      for (const object of kinds.flatMap((kind) => [...cache.ofKind(kind)]))
        if (when({ object, before: undefined, isRemoved: false, isEcho: false })) report(object);
    },
    changed: (object, before) => {
      gone.delete(object.metadata.uid);
      notice({ object, before, isRemoved: false, isEcho: writer.isEcho(object) });
    },
    removed: (object) => {
      const { uid } = object.metadata;
      if (kinds.includes(object.kind)) {
        writer.forget(uid);
        removed?.(object);
        if (finalize !== undefined) gone.set(uid, object);
      }
      if (isStarted) notice({ object, before: object, isRemoved: true, isEcho: false });
    },
    stop: () => queue.stop(),
    enqueue: (uid) => queue.add(uid),
  };
};

const isNews = ({ isEcho }: Change): boolean => !isEcho;

/** Returns whether more than the status has changed. */
export const isSpecChanged = ({ object, before, isRemoved }: Change): boolean =>
  isRemoved || before?.metadata.generation !== object.metadata.generation;
