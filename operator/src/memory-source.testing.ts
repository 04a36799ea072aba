import {
  GROUP_VERSION,
  SourceError,
  type Kind,
  type ObjectMeta,
  type ObjectRef,
  type ObjectVersion,
  type ResourceObject,
  type ResourceSource,
  type SigningSecret,
  type SourceEvent,
  type SourceListener,
} from '@standin/contract';
import { mergePatch } from './sources/merge-patch.ts';

interface Stored {
  object: ResourceObject;
}

const keyOf = ({ kind, namespace, name }: ObjectRef): string => `${kind} ${namespace}/${name}`;

/** An in-memory source that tests can disturb. test/integration/source-conformance.test.ts defines the port's rules. */
export class MemorySource implements ResourceSource {
  readonly events: (SourceEvent & { readonly name: string })[] = [];
  readonly statusWrites: { readonly ref: ObjectRef; readonly status: Readonly<Record<string, unknown>> }[] = [];
  readonly secrets = new Map<string, Readonly<Record<string, string>>>();
  /** The Secrets for Endpoints' credentials, by name. */
  readonly signingSecrets = new Map<string, SigningSecret>();
  /** The marks written by `replaceSecret`, by namespace and name of the Secret. */
  readonly marks = new Map<string, string>();
  /** Called before each call, except `start`, `apply` and `recordEvent`. May throw or wait. */
  disturb: (call: keyof ResourceSource, name: string) => void | Promise<void> = () => undefined;
  /** Returns the promise that `start` waits for. */
  starting: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();
  /** Whether the listener receives writes immediately. If not, `deliver` passes the writes on. */
  isQuick = true;
  readonly #stored = new Map<string, Stored>();
  readonly #undelivered: (() => void)[] = [];
  #listener: SourceListener | undefined;
  #version = 0;
  #uids = 0;

  async start(listener: SourceListener, signal: AbortSignal): Promise<void> {
    await this.starting(signal);
    this.#listener = listener;
    for (const { object } of this.#stored.values()) listener.put(object);
  }

  /** Delivers all pending changes to the listener. */
  deliver(): void {
    for (const deliver of this.#undelivered.splice(0)) deliver();
  }

  /** Creates an object, or replaces its spec and increases its generation. Keeps an earlier status unless a new one is passed. */
  put(kind: Kind, name: string, spec: unknown, status?: unknown): ResourceObject {
    const key = keyOf({ kind, namespace: 'default', name });
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
    this.#store(keyOf({ kind, namespace: 'default', name }), { ...object, metadata });
  }

  remove(kind: Kind, name: string): void {
    const key = keyOf({ kind, namespace: 'default', name });
    const object = this.#stored.get(key)?.object;
    this.#stored.delete(key);
    if (object !== undefined) this.#later(() => this.#listener?.remove(object));
  }

  /** Returns all stored objects. */
  objects(): readonly ResourceObject[] {
    return Array.from(this.#stored.values(), ({ object }) => object);
  }

  has(kind: Kind, name: string): boolean {
    return this.#stored.has(keyOf({ kind, namespace: 'default', name }));
  }

  /** Returns the stored object, whether or not the listener has received it. */
  object(kind: Kind, name: string): ResourceObject {
    const stored = this.#stored.get(keyOf({ kind, namespace: 'default', name }));
    if (stored === undefined) throw new Error(`there is no ${kind} ${name}`);
    return stored.object;
  }

  async get(ref: ObjectRef): Promise<ResourceObject | undefined> {
    await this.disturb('get', ref.name);
    return this.#stored.get(keyOf(ref))?.object;
  }

  apply(): Promise<ResourceObject> {
    return Promise.reject(new Error('the operator does not write objects'));
  }

  async delete(ref: ObjectRef, version?: ObjectVersion): Promise<void> {
    await this.disturb('delete', ref.name);
    const stored = this.#stored.get(keyOf(ref));
    if (stored === undefined) throw new SourceError('NotFound', `${ref.name} not found`);
    const { uid, resourceVersion } = stored.object.metadata;
    if (version !== undefined && (version.uid !== uid || version.resourceVersion !== resourceVersion))
      throw new SourceError('Conflict', `${ref.name} changed`);
    this.remove(ref.kind, ref.name);
  }

  async writeStatus(
    ref: ObjectRef,
    status: Readonly<Record<string, unknown>>,
    resourceVersion?: string,
  ): Promise<ResourceObject> {
    await this.disturb('writeStatus', ref.name);
    const stored = this.#stored.get(keyOf(ref));
    if (stored === undefined) throw new SourceError('NotFound', `${ref.name} not found`);
    const { object } = stored;
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
      throw new SourceError('Conflict', `${ref.name} changed`);
    }
    this.statusWrites.push({ ref, status });
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    return this.#store(keyOf(ref), { ...object, metadata, status: mergePatch(object.status, status) });
  }

  async readSecret(namespace: string, name: string, dataKey: string): Promise<Uint8Array | undefined> {
    await this.disturb('readSecret', name);
    const value = this.secrets.get(`${namespace}/${name}`)?.[dataKey];
    return value === undefined ? undefined : Buffer.from(value);
  }

  async readSigningSecret(_namespace: string, name: string): Promise<SigningSecret | undefined> {
    await this.disturb('readSigningSecret', name);
    return this.signingSecrets.get(name);
  }

  async createSecret(owner: ResourceObject, name: string, data: Readonly<Record<string, string>>): Promise<void> {
    await this.disturb('createSecret', name);
    const key = `${owner.metadata.namespace}/${name}`;
    if (this.secrets.has(key)) throw new SourceError('Conflict', `${name} exists`);
    this.secrets.set(key, data);
  }

  async replaceSecret(
    owner: ResourceObject,
    name: string,
    data: Readonly<Record<string, string>>,
    mark: string,
  ): Promise<void> {
    await this.disturb('replaceSecret', name);
    const key = `${owner.metadata.namespace}/${name}`;
    if (this.marks.get(key) === mark) return;
    this.marks.set(key, mark);
    this.secrets.set(key, data);
  }

  recordEvent(object: ResourceObject, event: SourceEvent): Promise<void> {
    this.events.push({ ...event, name: object.metadata.name });
    return Promise.resolve();
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

/** Returns a function that finds one of these objects, as `DesiredState.find` does. */
export const findIn =
  (objects: () => Iterable<ResourceObject>) =>
  (ref: ObjectRef): ResourceObject | undefined =>
    [...objects()].find(({ kind, metadata: { namespace, name } }) => keyOf({ kind, namespace, name }) === keyOf(ref));
