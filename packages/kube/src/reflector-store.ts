import { objectKey, type KubeObject } from './kube-object.ts';
import { Turns } from './turns.ts';

/**
 * Receives the changes that a reflector finds. Callbacks should only record what to do. A callback that throws is logged and
 * counted, but it is never fatal.
 */
export interface ReflectorHandler<T extends KubeObject> {
  /** Called for a new or changed object. */
  put(object: T): void;
  /** Called with the last known state of a deleted object. */
  remove(object: T): void;
}

/** Holds the last known objects, by `namespace/name`. Reports only differences to its handler. */
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
    // The object was deleted and created again while no watch was open. The handler must not mistake the new object for the old
    // one.
    if (known !== undefined && known.metadata.uid !== object.metadata.uid) this.#handler.remove(known);
    this.#objects.set(key, object);
    this.#handler.put(object);
  }

  remove(object: T): void {
    const key = objectKey(object);
    if (this.#objects.delete(key)) this.#handler.remove(object);
  }

  /**
   * Accepts a full list. Objects that are missing from it were deleted while the watch was down. Rejects if `signal` aborts before all
   * differences are reported.
   */
  async replace(objects: readonly T[], signal: AbortSignal): Promise<void> {
    const listed = new Set(objects.map(objectKey));
    for (const [key, object] of [...this.#objects]) {
      if (listed.has(key)) continue;
      this.#objects.delete(key);
      this.#handler.remove(object);
    }
    const turns = new Turns();
    for (const object of objects) {
      this.put(object);
      await turns.pause();
      signal.throwIfAborted();
    }
  }
}
