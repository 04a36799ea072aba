// client-node cannot watch the objects in the namespaces that have a label.

import type { Registry } from 'prom-client';
import type { KubeClient } from './kube-client.ts';
import { nameOnly, type KubeObject } from './kube-object.ts';
import type { KubeLogger } from './logger.ts';
import { Reflector } from './reflector.ts';
import type { ReflectorHandler } from './reflector-store.ts';
import { resourcePath } from './resource-path.ts';
import { Turns } from './turns.ts';

export interface SelectedNamespacesOptions {
  readonly client: KubeClient;
  /** In the syntax of the API, for example `standin.dev/serve=true,team in (a,b)`. */
  readonly labelSelector: string;
  /** See `ReflectorOptions.onRefused`. */
  readonly onRefused?: (error: unknown) => void;
  readonly logger: KubeLogger;
  readonly registry?: Registry;
  /** Ends the watch when it aborts. */
  readonly signal: AbortSignal;
}

/**
 * Watches the namespaces that match a label selector. Its filters pass on the objects in these namespaces. While the API server is
 * unavailable or rejects the watch, the last known selection applies.
 */
export class SelectedNamespaces {
  /** Resolves when the first selection is known. Rejects if `signal` aborts before that. */
  readonly synced: Promise<void>;
  readonly #names = new Set<string>();
  readonly #filters: Pick<NamespaceFilter<KubeObject>, 'update'>[] = [];
  readonly #logger: KubeLogger;
  #isSynced = false;

  constructor({ client, labelSelector, onRefused, logger, registry, signal }: SelectedNamespacesOptions) {
    this.#logger = logger;
    const reflector = new Reflector<KubeObject>({
      client,
      path: resourcePath({ group: '', version: 'v1', plural: 'namespaces' }),
      resource: 'namespaces',
      query: { labelSelector },
      transform: nameOnly,
      onRefused,
      logger,
      registry,
      handler: {
        put: ({ metadata: { name } }) => {
          if (this.#names.has(name)) return;
          this.#names.add(name);
          this.#changed(name, 'namespace selected');
        },
        remove: ({ metadata: { name } }) => {
          this.#names.delete(name);
          this.#changed(name, 'namespace no longer selected');
        },
      },
    });
    reflector.run(signal).catch((error: unknown) => logger.error({ err: error }, 'reflector ended'));
    this.synced = reflector.synced.then(() => {
      this.#isSynced = true;
      logger.info({ namespaces: this.#names.size }, 'namespaces selected');
    });
    this.synced.catch(() => undefined);
  }

  /** Whether the first selection is known. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  has(namespace: string): boolean {
    return this.#names.has(namespace);
  }

  /**
   * Returns a handler for the objects of one kind. It passes on the objects in selected namespaces. When a namespace is selected,
   * `put` is called for each object in it. When it is no longer selected, `remove` is called for each of them.
   */
  filter<T extends KubeObject>(handler: ReflectorHandler<T>): ReflectorHandler<T> {
    const filter = new NamespaceFilter(handler, (namespace) => this.#names.has(namespace));
    this.#filters.push(filter);
    return filter;
  }

  #changed(namespace: string, message: string): void {
    if (this.#isSynced) this.#logger.info({ namespace }, message);
    for (const filter of this.#filters) {
      filter.update(namespace).catch((error: unknown) => {
        this.#logger.error({ namespace, err: error }, 'cannot apply the selection of a namespace');
      });
    }
  }
}

interface Held<T> {
  object: T;
  /** Whether the handler has the object. */
  isPassed: boolean;
}

class NamespaceFilter<T extends KubeObject> implements ReflectorHandler<T> {
  readonly #handler: ReflectorHandler<T>;
  readonly #isSelected: (namespace: string) => boolean;
  /** All objects, by namespace and name. */
  readonly #held = new Map<string, Map<string, Held<T>>>();

  constructor(handler: ReflectorHandler<T>, isSelected: (namespace: string) => boolean) {
    this.#handler = handler;
    this.#isSelected = isSelected;
  }

  put(object: T): void {
    const { namespace = '', name } = object.metadata;
    const objects = this.#held.get(namespace) ?? new Map<string, Held<T>>();
    const isPassed = this.#isSelected(namespace);
    const held = objects.get(name) ?? { object, isPassed };
    held.object = object;
    held.isPassed ||= isPassed;
    this.#held.set(namespace, objects.set(name, held));
    if (isPassed) this.#handler.put(object);
  }

  remove(object: T): void {
    const { namespace = '', name } = object.metadata;
    const objects = this.#held.get(namespace);
    const held = objects?.get(name);
    objects?.delete(name);
    if (objects?.size === 0) this.#held.delete(namespace);
    if (held?.isPassed === true) this.#handler.remove(object);
  }

  /** Passes on or removes the objects in a namespace. The selection may change in the meantime. */
  async update(namespace: string): Promise<void> {
    const turns = new Turns();
    for (const held of this.#held.get(namespace)?.values() ?? []) {
      const isSelected = this.#isSelected(namespace);
      if (held.isPassed !== isSelected) {
        held.isPassed = isSelected;
        if (isSelected) this.#handler.put(held.object);
        else this.#handler.remove(held.object);
      }
      await turns.pause();
    }
  }
}
