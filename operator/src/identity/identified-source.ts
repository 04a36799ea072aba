import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  isIdentified,
  SourceError,
  type DesiredObject,
  type Events,
  type ObjectRef,
  type Objects,
  type ObjectVersion,
  type ResourceObject,
  type ResourceSource,
  type SourceListener,
  objectRef,
} from '@standin/contract';
import { Turns, WorkQueue } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { IdentityStore } from './identity-secrets.ts';
import { entryName, IDENTITIES_SECRET, type CheckedEntry } from './resolve-identity.ts';
import { faulty, recordIdentities, type Candidate, type Known } from './record-identities.ts';

export interface IdentifiedSourceOptions {
  readonly source: ResourceSource;
  readonly store: IdentityStore;
  /** The interval at which each namespace's Secret is read again. Watching the Secrets would require `watch` on all Secrets. */
  readonly pollMs: number;
  readonly logger: Logger;
  readonly registry?: Registry;
  /** How long objects wait for a Secret that cannot be read. Default: `WAIT_MS_MAX`. */
  readonly waitMsMax?: number;
}

/** An object that exists, as the API server reports it. */
interface Live {
  object: ResourceObject;
  /** Undefined if the object has not been reported yet. */
  known: Known | undefined;
  /** Resolves when the object is reported or removed. */
  readonly settled: PromiseWithResolvers<void>;
}

/** Maximum number of concurrent reads of Secrets. */
const READERS = 8;
/** The delay is short at first, because the operator's start waits for these reads. */
const BACKOFF = { baseMs: 100, capMs: 10_000 };
/** After this time, objects are reported without their Secret, because one unreadable Secret must not prevent the start. */
const WAIT_MS_MAX = 30_000;
/**
 * The start waits for at most this many times `WAIT_MS_MAX`. Without a limit, a tenant who changes a Secret all the time, so that no
 * write succeeds, could prevent the start.
 */
const START_WAITS = 1.5;
/** After a failure, a namespace is read again after this many intervals. */
const FAILED_INTERVALS = 6;

const withIdentity = (object: ResourceObject, { uid, fault }: Known): ResourceObject => ({
  ...object,
  metadata: { ...object.metadata, uid },
  ...(fault !== undefined && { identityFault: fault }),
});

/**
 * Reports Accounts and Projects of a cluster under their identities instead of their uids (ADR 024). An object is reported only
 * after its identity is stored, or when it cannot be read or stored (see `recordIdentities`). All other kinds are passed through
 * unchanged.
 */
class IdentifiedObjects implements Objects {
  readonly #options: IdentifiedSourceOptions;
  readonly #objects: Objects;
  readonly #queue: WorkQueue;
  /** The objects by namespace and `entryName`. */
  readonly #live = new Map<string, Map<string, Live>>();
  /** The last verified entry of each live object. */
  readonly #checked = new WeakMap<Candidate, CheckedEntry>();
  /** The object that has an identity, by kind and id. */
  readonly #holders = new Map<string, Live>();
  /** The objects that are not reported yet, by namespace. */
  readonly #waiting = new Map<string, { readonly objects: Set<Live>; readonly sinceMs: number }>();
  #listener: SourceListener | undefined;

  constructor(options: IdentifiedSourceOptions) {
    this.#options = options;
    this.#objects = options.source.objects;
    this.#queue = new WorkQueue({
      name: 'identities',
      concurrency: READERS,
      backoff: BACKOFF,
      registry: options.registry,
      logger: options.logger.child({ stage: 'identity' }),
      about: (namespace) => ({ namespace }),
      reconcile: (namespace) => this.#reconcile(namespace),
    });
  }

  async start(listener: SourceListener, signal: AbortSignal): Promise<void> {
    this.#listener = listener;
    const stopped = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        this.#listener = undefined;
        void this.#queue.stop();
        reject(signal.reason as Error);
      });
    });
    stopped.catch(() => undefined);
    const own: SourceListener = {
      put: (object) => this.#put(object),
      remove: (object) => this.#remove(object),
      problems: (problems) => listener.problems(problems),
      configMaps: listener.configMaps,
    };
    await this.#objects.start(own, signal);
    // Only what was listed, because a tenant can create objects without end.
    const listed = [...this.#waiting.values()].flatMap(({ objects }) => [...objects]);
    const { waitMsMax = WAIT_MS_MAX } = this.#options;
    await Promise.race([
      stopped,
      Promise.all(listed.map(({ settled }) => settled.promise)),
      delay(waitMsMax * START_WAITS, undefined, { ref: false }),
    ]);
  }

  async get(ref: ObjectRef): Promise<ResourceObject | undefined> {
    const object = await this.#objects.get(ref);
    if (object === undefined || !isIdentified(ref.kind)) return object;
    const resolve = async (): Promise<Known | undefined> => {
      const { namespace } = ref;
      const { store } = this.#options;
      const options = { namespace, isFinal: false, checked: new WeakMap() };
      return (await recordIdentities(store, options, [{ object, known: undefined }])).identities[0];
    };
    const known = this.#liveObject(object)?.known ?? (await resolve());
    return known && withIdentity(object, known);
  }

  apply(object: DesiredObject): Promise<ResourceObject> {
    return this.#objects.apply(object);
  }

  async delete(ref: ObjectRef, version?: ObjectVersion): Promise<void> {
    if (version === undefined || !isIdentified(ref.kind)) return this.#objects.delete(ref, version);
    // The API server knows the object under its own uid.
    const live = this.#live.get(ref.namespace)?.get(entryName(ref));
    if (live?.known?.uid !== version.uid)
      throw new SourceError(
        'Conflict',
        `${ref.kind} "${ref.name}" in namespace "${ref.namespace}" is another object now`,
      );
    return this.#objects.delete(ref, { uid: live.object.metadata.uid, resourceVersion: version.resourceVersion });
  }

  async writeStatus(...given: Parameters<Objects['writeStatus']>): Promise<ResourceObject> {
    const written = await this.#objects.writeStatus(...given);
    const known = this.#liveObject(written)?.known;
    return known === undefined ? written : withIdentity(written, known);
  }

  /** Returns the object with the uid that the API server assigned to it. */
  withOwnUid(object: ResourceObject): ResourceObject {
    const live = this.#live.get(object.metadata.namespace)?.get(entryName(objectRef(object)));
    const isSame = live?.known?.uid === object.metadata.uid;
    return isSame ? { ...object, metadata: { ...object.metadata, uid: live.object.metadata.uid } } : object;
  }

  #put(object: ResourceObject): void {
    if (!isIdentified(object.kind)) {
      this.#listener?.put(object);
      return;
    }
    const { namespace } = object.metadata;
    const live = this.#liveObject(object);
    if (live !== undefined) {
      live.object = object;
      if (live.known !== undefined) this.#listener?.put(withIdentity(object, live.known));
      return;
    }
    // Even if the name is known, an object with a new uid is reported only after the Secret has been read again.
    const objects = this.#live.get(namespace) ?? new Map<string, Live>();
    const added: Live = { object, known: undefined, settled: Promise.withResolvers() };
    this.#live.set(namespace, objects.set(entryName(objectRef(object)), added));
    const waiting = this.#waiting.get(namespace) ?? { objects: new Set(), sinceMs: performance.now() };
    waiting.objects.add(added);
    this.#waiting.set(namespace, waiting);
    this.#queue.add(namespace);
  }

  #remove(object: ResourceObject): void {
    if (!isIdentified(object.kind)) {
      this.#listener?.remove(object);
      return;
    }
    const live = this.#liveObject(object);
    if (live === undefined) return;
    const { namespace } = object.metadata;
    const objects = this.#live.get(namespace);
    objects?.delete(entryName(objectRef(object)));
    if (objects?.size === 0) this.#live.delete(namespace);
    live.object = object;
    this.#withdraw(live);
    this.#settle(live);
  }

  /** The object with this name, if it has the same uid. */
  #liveObject(object: ResourceObject): Live | undefined {
    if (!isIdentified(object.kind)) return undefined;
    const live = this.#live.get(object.metadata.namespace)?.get(entryName(objectRef(object)));
    return live?.object.metadata.uid === object.metadata.uid ? live : undefined;
  }

  async #reconcile(namespace: string): Promise<{ readonly requeueAfterMs: number } | undefined> {
    // The objects of a list arrive together, and are recorded with one write.
    await nextTurn();
    const objects = this.#live.get(namespace);
    if (objects === undefined) return undefined;
    const seen = [...objects.values()];
    const { store, waitMsMax = WAIT_MS_MAX, pollMs, logger } = this.#options;
    const since = this.#waiting.get(namespace)?.sinceMs ?? Infinity;
    const isFinal = performance.now() - since > waitMsMax;
    const options = { namespace, isFinal, checked: this.#checked };
    const { identities, problem } = await recordIdentities(store, options, seen);
    if (problem !== undefined) logger.warn({ namespace, problem }, 'identities are not stored');
    const turns = new Turns();
    for (const [index, live] of seen.entries()) {
      await turns.pause();
      const known = identities[index];
      // An object that fails this check was deleted or replaced in the meantime.
      if (known !== undefined && this.#liveObject(live.object) === live) this.#report(live, known);
    }
    const intervalMs = problem === undefined ? pollMs : pollMs * FAILED_INTERVALS;
    // The intervals vary, so that the Secrets of all namespaces are not read at the same time.
    return { requeueAfterMs: intervalMs * (0.75 + Math.random() / 4) };
  }

  #report(live: Live, resolved: Known): void {
    const { kind } = live.object;
    const holder = this.#holders.get(`${kind} ${resolved.uid}`);
    const known =
      holder === undefined || holder === live
        ? resolved
        : // The holder is not named, because it may belong to another team.
          faulty(live.object, {
            reason: 'IdentityInvalid',
            message: `Another ${kind} has the same identity. Delete the entry for one of the two objects from Secret ${IDENTITIES_SECRET}.`,
          });
    this.#settle(live);
    if (isDeepStrictEqual(live.known, known)) return;
    this.#withdraw(live);
    live.known = known;
    this.#holders.set(`${kind} ${known.uid}`, live);
    if (known.fault !== undefined) {
      const { kind: ofKind, namespace, name } = objectRef(live.object);
      this.#options.logger.warn({ kind: ofKind, namespace, name, ...known.fault }, 'object has no usable identity');
    }
    this.#listener?.put(withIdentity(live.object, known));
  }

  #withdraw(live: Live): void {
    const { object, known } = live;
    if (known === undefined) return;
    live.known = undefined;
    this.#holders.delete(`${object.kind} ${known.uid}`);
    this.#listener?.remove(withIdentity(object, known));
  }

  #settle(live: Live): void {
    const { namespace } = live.object.metadata;
    const waiting = this.#waiting.get(namespace);
    waiting?.objects.delete(live);
    if (waiting?.objects.size === 0) this.#waiting.delete(namespace);
    live.settled.resolve();
  }
}

/** Creates a source that reports the objects of a cluster under their identities. */
export const identifiedSource = (options: IdentifiedSourceOptions): ResourceSource => {
  const { source } = options;
  const objects = new IdentifiedObjects(options);
  // `kubectl describe` finds Events by the uid that the API server assigned.
  const events: Events = { record: (object, event) => source.events.record(objects.withOwnUid(object), event) };
  return { ...source, objects, events };
};
