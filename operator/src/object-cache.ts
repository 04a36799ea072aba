import {
  isConfigKind,
  isRecord,
  type Kind,
  type ObjectRef,
  type OperationKind,
  type ResourceObject,
  type SourceProblem,
} from '@standin/contract';

/** What reads the cache. Only `DesiredState` changes it. */
export type CachedObjects = Omit<ObjectCache, 'put' | 'remove' | 'setProblems'>;

/** Receives the reference of an object that was put or removed, or undefined if the problems have changed. */
type CacheListener = (ref: ObjectRef | undefined) => void;

/** Returns the name of the Project or Account that an operation is for, without a check of the spec. */
export const parentName = ({ spec }: ResourceObject): string => {
  const { projectRef, accountRef } = isRecord(spec) ? spec : {};
  const { name } = isRecord(projectRef) ? projectRef : isRecord(accountRef) ? accountRef : {};
  return typeof name === 'string' ? name : '';
};

const parentKey = (kind: Kind, namespace: string, name: string): string => `${kind} ${namespace}/${name}`;

/** The objects that the sources have reported, by uid, by reference, by kind and namespace, and operations by what they are for. */
export class ObjectCache {
  readonly #byUid = new Map<string, ResourceObject>();
  /** The objects by kind, namespace and name. */
  readonly #byName = new Map<Kind, Map<string, Map<string, ResourceObject>>>();
  /** The operations by uid, by `parentKey`. */
  readonly #byParent = new Map<string, Map<string, ResourceObject>>();
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

  /** Returns the operations of a kind that are for this Project or Account. Takes the same time with any number of others. */
  operationsFor({ metadata: { namespace, name } }: ResourceObject, kind: OperationKind): Iterable<ResourceObject> {
    return this.#byParent.get(parentKey(kind, namespace, name))?.values() ?? [];
  }

  /** Returns the operations that have the kind and the Project or Account of this one. */
  operationsBeside(operation: ResourceObject): Iterable<ResourceObject> {
    const { kind, metadata } = operation;
    return this.#byParent.get(parentKey(kind, metadata.namespace, parentName(operation)))?.values() ?? [];
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
    if (before !== undefined) this.#unlink(before);
    this.#link(object);
    this.#notify({ kind, namespace, name });
    return before;
  }

  remove({ kind, metadata: { uid, namespace, name } }: ResourceObject): void {
    const before = this.#byUid.get(uid);
    if (before !== undefined) this.#unlink(before);
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

  #link(object: ResourceObject): void {
    const { kind, metadata } = object;
    if (isConfigKind(kind)) return;
    const key = parentKey(kind, metadata.namespace, parentName(object));
    this.#byParent.set(key, (this.#byParent.get(key) ?? new Map<string, ResourceObject>()).set(metadata.uid, object));
  }

  #unlink(object: ResourceObject): void {
    const { kind, metadata } = object;
    const key = parentKey(kind, metadata.namespace, parentName(object));
    const operations = this.#byParent.get(key);
    operations?.delete(metadata.uid);
    if (operations?.size === 0) this.#byParent.delete(key);
  }

  #notify(ref: ObjectRef | undefined): void {
    for (const listener of this.#listeners) listener(ref);
  }
}
