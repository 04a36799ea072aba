import {
  type ConfigMapListener,
  GROUP_VERSION,
  SourceError,
  type Events,
  type Kind,
  type LabelledSecret,
  type ObjectMeta,
  type ObjectRef,
  type Objects,
  type ObjectVersion,
  type ResourceObject,
  type ResourceSource,
  type Secrets,
  type SourceEvent,
  type SourceListener,
  objectKey,
} from '@standin/contract';
import type { Controller } from './controller.ts';
import { ObjectCache } from './object-cache.ts';
import { mergePatch } from './sources/merge-patch.ts';

interface Stored {
  object: ResourceObject;
}

type Disturbed =
  'get' | 'delete' | 'writeStatus' | 'readSecret' | 'readLabelledSecret' | 'createSecret' | 'replaceSecret';

/** Ignores ConfigMaps, of which a `MemorySource` has none. */
export const NO_CONFIG_MAPS: ConfigMapListener = {
  put: () => undefined,
  remove: () => undefined,
  readable: () => undefined,
};

/** An in-memory source that tests can disturb. test/integration/source-conformance.test.ts defines the port's rules. */
export class MemorySource implements ResourceSource {
  readonly objects: Objects = {
    start: (listener, signal) => this.#start(listener, signal),
    get: (ref) => this.#get(ref),
    apply: () => Promise.reject(new Error('the operator does not write objects')),
    delete: (ref, version) => this.#delete(ref, version),
    writeStatus: (ref, status, resourceVersion) => this.#writeStatus(ref, status, resourceVersion),
  };
  readonly secrets: Secrets = {
    read: async (namespace, name, dataKey) => {
      await this.disturb('readSecret', name);
      const value = this.secretData.get(`${namespace}/${name}`)?.[dataKey];
      return value === undefined ? undefined : Buffer.from(value);
    },
    readLabelled: async (_namespace, name) => {
      await this.disturb('readLabelledSecret', name);
      return this.labelledSecrets.get(name);
    },
    create: async (owner, name, data) => {
      await this.disturb('createSecret', name);
      const key = `${owner.metadata.namespace}/${name}`;
      if (this.secretData.has(key)) throw new SourceError('Conflict', `${name} exists`);
      this.secretData.set(key, data);
    },
    replace: async (owner, name, data, mark) => {
      await this.disturb('replaceSecret', name);
      const key = `${owner.metadata.namespace}/${name}`;
      if (this.marks.get(key) === mark) return;
      this.marks.set(key, mark);
      this.secretData.set(key, data);
    },
  };
  readonly events: Events = {
    record: (object, event) => {
      this.recorded.push({ ...event, name: object.metadata.name });
      return Promise.resolve();
    },
  };
  /** The events that were recorded. */
  readonly recorded: (SourceEvent & { readonly name: string })[] = [];
  readonly statusWrites: { readonly ref: ObjectRef; readonly status: Readonly<Record<string, unknown>> }[] = [];
  /** The data of Secrets, by namespace and name. */
  readonly secretData = new Map<string, Readonly<Record<string, string>>>();
  /** The Secrets that Endpoints refer to, by name. */
  readonly labelledSecrets = new Map<string, LabelledSecret>();
  /** The marks written by `secrets.replace`, by namespace and name of the Secret. */
  readonly marks = new Map<string, string>();
  /** Called before each of these calls. May throw or wait. */
  disturb: (call: Disturbed, name: string) => void | Promise<void> = () => undefined;
  /** Returns the promise that `start` waits for. */
  starting: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();
  /** Whether the listener receives writes immediately. If not, `deliver` passes the writes on. */
  isQuick = true;
  /** The objects as `follow` has reported them. */
  readonly cache = new ObjectCache();
  readonly #stored = new Map<string, Stored>();
  readonly #undelivered: (() => void)[] = [];
  #listener: SourceListener | undefined;
  #version = 0;
  #uids = 0;

  /**
   * Reports objects to `cache` and to the controller of the current term, as `DesiredState` does. `transform` changes the reported
   * objects.
   */
  async follow(
    controller: () => Controller | undefined,
    transform: (object: ResourceObject) => ResourceObject = (object) => object,
  ): Promise<void> {
    const { signal } = new AbortController();
    await this.objects.start(
      {
        put: (seen) => {
          const object = transform(seen);
          const before = this.cache.put(object);
          controller()?.changed?.(object, before);
        },
        remove: (object) => {
          this.cache.remove(object);
          controller()?.removed?.(object);
        },
        problems: () => undefined,
        configMaps: NO_CONFIG_MAPS,
      },
      signal,
    );
  }

  /** Delivers all pending changes to the listener. */
  deliver(): void {
    for (const deliver of this.#undelivered.splice(0)) deliver();
  }

  /** Creates an object, or replaces its spec and increases its generation. Keeps an earlier status unless a new one is passed. */
  put(kind: Kind, name: string, spec: unknown, status?: unknown): ResourceObject {
    const key = objectKey({ kind, namespace: 'default', name });
    const before = this.#stored.get(key)?.object;
    const { uid, generation, creationTimestamp } = before?.metadata ?? {
      uid: `uid-${++this.#uids}`,
      generation: 0,
      creationTimestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, this.#uids)).toISOString(),
    };
    const metadata = { name, namespace: 'default', uid, generation: generation + 1, creationTimestamp };
    return this.#store(key, {
      apiVersion: GROUP_VERSION,
      kind,
      spec,
      status: status ?? before?.status,
      metadata: { ...metadata, resourceVersion: String(++this.#version) },
    });
  }

  /** Sets an object's labels and annotations. */
  label(kind: Kind, name: string, labels: Pick<ObjectMeta, 'labels' | 'annotations'>): void {
    const object = this.object(kind, name);
    const metadata = { ...object.metadata, ...labels, resourceVersion: String(++this.#version) };
    this.#store(objectKey({ kind, namespace: 'default', name }), { ...object, metadata });
  }

  remove(kind: Kind, name: string): void {
    const key = objectKey({ kind, namespace: 'default', name });
    const object = this.#stored.get(key)?.object;
    this.#stored.delete(key);
    if (object !== undefined) this.#later(() => this.#listener?.remove(object));
  }

  /** Returns all stored objects. */
  all(): readonly ResourceObject[] {
    return Array.from(this.#stored.values(), ({ object }) => object);
  }

  has(kind: Kind, name: string): boolean {
    return this.#stored.has(objectKey({ kind, namespace: 'default', name }));
  }

  /** Returns the stored object, whether or not the listener has received it. */
  object(kind: Kind, name: string): ResourceObject {
    const stored = this.#stored.get(objectKey({ kind, namespace: 'default', name }));
    if (stored === undefined) throw new Error(`there is no ${kind} ${name}`);
    return stored.object;
  }

  async #start(listener: SourceListener, signal: AbortSignal): Promise<void> {
    await this.starting(signal);
    this.#listener = listener;
    for (const { object } of this.#stored.values()) listener.put(object);
  }

  async #get(ref: ObjectRef): Promise<ResourceObject | undefined> {
    await this.disturb('get', ref.name);
    return this.#stored.get(objectKey(ref))?.object;
  }

  async #delete(ref: ObjectRef, version?: ObjectVersion): Promise<void> {
    await this.disturb('delete', ref.name);
    const stored = this.#stored.get(objectKey(ref));
    if (stored === undefined) throw new SourceError('NotFound', `${ref.name} not found`);
    const { uid, resourceVersion } = stored.object.metadata;
    if (version !== undefined && (version.uid !== uid || version.resourceVersion !== resourceVersion))
      throw new SourceError('Conflict', `${ref.name} changed`);
    this.remove(ref.kind, ref.name);
  }

  async #writeStatus(
    ref: ObjectRef,
    status: Readonly<Record<string, unknown>>,
    resourceVersion?: string,
  ): Promise<ResourceObject> {
    await this.disturb('writeStatus', ref.name);
    const stored = this.#stored.get(objectKey(ref));
    if (stored === undefined) throw new SourceError('NotFound', `${ref.name} not found`);
    const { object } = stored;
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
      throw new SourceError('Conflict', `${ref.name} changed`);
    }
    this.statusWrites.push({ ref, status });
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    return this.#store(objectKey(ref), { ...object, metadata, status: mergePatch(object.status, status) });
  }

  #store(key: string, object: ResourceObject): ResourceObject {
    this.#stored.set(key, { object });
    this.#later(() => this.#listener?.put(object));
    return object;
  }

  #later(deliver: () => void): void {
    this.#undelivered.push(deliver);
    if (this.isQuick) this.deliver();
  }
}
