import { objectKey, type KubeObject } from './kube-object.ts';

/**
 * Receives the changes that a reflector finds. Callbacks should only record what to do. A callback that throws is logged and
 * counted, never fatal.
 */
export interface ReflectorHandler<T extends KubeObject> {
  /** A new or changed object. */
  put(object: T): void;
  /** A deleted object, in its last known state. */
  remove(object: T): void;
}

/** The last known objects, by `namespace/name`. Reports only differences to its handler. */
export class ReflectorStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #handler: ReflectorHandler<T>;

  constructor(handler: ReflectorHandler<T>) {
    this.#handler = handler;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  put(object: T): void {
    const key = objectKey(object);
    const known = this.#objects.get(key);
    if (known !== undefined && known.metadata.resourceVersion === object.metadata.resourceVersion) return;
    // Deleted and created again in a gap: the handler must not take the new object for the old one.
    if (known !== undefined && known.metadata.uid !== object.metadata.uid) this.#handler.remove(known);
    this.#objects.set(key, object);
    this.#handler.put(object);
  }

  remove(object: T): void {
    const key = objectKey(object);
    if (this.#objects.delete(key)) this.#handler.remove(object);
  }

  /** Accepts a full list. Objects that are missing from it were deleted in a gap. */
  replace(objects: readonly T[]): void {
    const listed = new Set(objects.map(objectKey));
    for (const [key, object] of [...this.#objects]) {
      if (listed.has(key)) continue;
      this.#objects.delete(key);
      this.#handler.remove(object);
    }
    for (const object of objects) this.put(object);
  }
}
