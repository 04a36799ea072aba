import type { Kind, ObjectRef, ResourceObject, SourceProblem } from '@standin/contract';

/** What reads the cache. Only `DesiredState` changes it. */
export type CachedObjects = Omit<ObjectCache, 'put' | 'remove' | 'setProblems'>;

/** Receives the reference of an object that was put or removed, or undefined if the problems have changed. */
type CacheListener = (ref: ObjectRef | undefined) => void;

/** The objects that the sources have reported, by uid, by reference, and by kind and namespace. */
export class ObjectCache {
  readonly #byUid = new Map<string, ResourceObject>();
  /** The objects by kind, namespace and name. */
  readonly #byName = new Map<Kind, Map<string, Map<string, ResourceObject>>>();
  readonly #listeners = new Set<CacheListener>();
  #problems: readonly SourceProblem[] = [];

  get size(): number {
    return this.#byUid.size;
  }

  /** The current problems with the input of the sources. */
  get problems(): readonly SourceProblem[] {
    return this.#problems;
  }

  get(uid: string): ResourceObject | undefined {
    return this.#byUid.get(uid);
  }

  has(uid: string): boolean {
    return this.#byUid.has(uid);
  }

  values(): Iterable<ResourceObject> {
    return this.#byUid.values();
  }

  find({ kind, namespace, name }: ObjectRef): ResourceObject | undefined {
    return this.#byName.get(kind)?.get(namespace)?.get(name);
  }

  *ofKind(kind: Kind): Iterable<ResourceObject> {
    for (const objects of this.#byName.get(kind)?.values() ?? []) yield* objects.values();
  }

  inNamespace(kind: Kind, namespace: string): Iterable<ResourceObject> {
    return this.#byName.get(kind)?.get(namespace)?.values() ?? [];
  }

  /** Calls `listener` after every change. Returns a function that unsubscribes. */
  subscribe(listener: CacheListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Returns the earlier version of the object, or undefined if there is none. */
  put(object: ResourceObject): ResourceObject | undefined {
    const { kind, metadata } = object;
    const { uid, namespace, name } = metadata;
    const before = this.#byUid.get(uid);
    this.#byUid.set(uid, object);
    const namespaces = this.#byName.get(kind) ?? new Map<string, Map<string, ResourceObject>>();
    const objects = namespaces.get(namespace) ?? new Map<string, ResourceObject>();
    this.#byName.set(kind, namespaces.set(namespace, objects.set(name, object)));
    this.#notify({ kind, namespace, name });
    return before;
  }

  remove({ kind, metadata: { uid, namespace, name } }: ResourceObject): void {
    this.#byUid.delete(uid);
    const namespaces = this.#byName.get(kind);
    const objects = namespaces?.get(namespace);
    // A new object with the same name may already exist.
    if (objects?.get(name)?.metadata.uid === uid) {
      objects.delete(name);
      if (objects.size === 0) namespaces?.delete(namespace);
    }
    this.#notify({ kind, namespace, name });
  }

  setProblems(problems: readonly SourceProblem[]): void {
    this.#problems = problems;
    this.#notify(undefined);
  }

  #notify(ref: ObjectRef | undefined): void {
    for (const listener of this.#listeners) listener(ref);
  }
}
