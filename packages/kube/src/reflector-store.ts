// client-node's informer does not report that an object was deleted and created again, and keeps whole objects.

import type { KubeObject } from './kube-object.ts';
import type { Listed } from './list-all.ts';
import { Turns } from './turns.ts';

/**
 * Receives the changes that a reflector finds. Callbacks should only record what to do. A callback that throws is logged and
 * counted, but it is never fatal.
 */
export interface ReflectorHandler<T extends KubeObject> {
  /** Called for a new or changed object. */
  put(object: T): void;
  /** Called with the last known state of a deleted object, or with what the store kept of it. */
  remove(object: T): void;
}

/** Holds the last known objects, by `namespace/name`. Reports only differences to its handler. */
export class ReflectorStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #handler: ReflectorHandler<T>;
  readonly #kept: (object: T) => T;

  constructor(handler: ReflectorHandler<T>, kept: (object: T) => T) {
    this.#handler = handler;
    this.#kept = kept;
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
    const key = namespacedName(object);
    const known = this.#objects.get(key);
    if (known !== undefined && known.metadata.resourceVersion === object.metadata.resourceVersion) return;
    // The object was deleted and created again while no watch was open. The handler must not mistake the new object for the old
    // one.
    if (known !== undefined && known.metadata.uid !== object.metadata.uid) this.#handler.remove(known);
    this.#objects.set(key, this.#kept(object));
    this.#handler.put(object);
  }

  remove(object: T): void {
    const key = namespacedName(object);
    if (this.#objects.delete(key)) this.#handler.remove(object);
  }

  /**
   * Accepts a full list, page by page. Objects that are missing from it were deleted while the watch was down. They are removed at
   * the end. Returns the list's resourceVersion. Rejects if `signal` aborts before all differences are reported.
   */
  async replace(pages: AsyncIterable<Listed<T>>, signal: AbortSignal): Promise<string> {
    const listed = new Set<string>();
    const turns = new Turns();
    let version = '';
    for await (const { items, resourceVersion } of pages) {
      version = resourceVersion;
      for (const object of items) {
        listed.add(namespacedName(object));
        this.put(object);
        await turns.pause();
        signal.throwIfAborted();
      }
    }
    for (const [key, object] of [...this.#objects]) {
      if (listed.has(key)) continue;
      this.#objects.delete(key);
      this.#handler.remove(object);
    }
    return version;
  }
}

/** `namespace/name`, or `name` for a cluster-scoped object. */
const namespacedName = ({ metadata: { namespace, name } }: KubeObject): string =>
  namespace === undefined ? name : `${namespace}/${name}`;
