import { mkdir } from 'node:fs/promises';
import {
  GROUP_VERSION,
  isConfigKind,
  SourceError,
  type DesiredObject,
  type Kind,
  type ObjectRef,
  type ObjectVersion,
  type ResourceObject,
  type SourceListener,
  type SourceProblem,
} from '@standin/contract';
import type { Logger } from 'pino';
import { FolderWatch } from './folder-watch.ts';
import { FolderReader } from './folder-reader.ts';
import type { EditedText, LocatingObjects } from './locating-source.ts';
import type { ManifestFolder } from './manifest-folder.ts';
import { manifestKey, type ManifestObject, type ManifestSecret } from './manifest-objects.ts';
import type { DesiredTree } from './manifest-tree.ts';
import { ManifestWriter } from './manifest-writer.ts';
import { canonicalJson, mergePatch } from './merge-patch.ts';
import { ObjectRecords, derivedUid, type ObjectRecord } from './object-records.ts';
import type { SecretFiles } from './secret-files.ts';

export interface FolderObjectsOptions {
  readonly folder: ManifestFolder;
  /** The kinds that the folder may contain. Objects of other kinds are reported as problems. */
  readonly kinds: readonly Kind[];
  readonly dataDir: string;
  /** File in the data folder for the facts that manifests cannot store: status, generation and age. */
  readonly records: string;
  readonly secrets: SecretFiles;
  readonly logger: Logger;
}

interface Active {
  readonly manifest: ManifestObject;
  readonly resource: ResourceObject;
}

const toResource = (
  { kind, key, metadata, spec, unknownFields }: ManifestObject,
  record: ObjectRecord,
): ResourceObject => ({
  ...unknownFields,
  apiVersion: GROUP_VERSION,
  kind,
  metadata: {
    ...metadata,
    // Desired state that is removed and added again keeps its uid. A one-time operation, such as a Replay, that is created again
    // has a new uid.
    uid: derivedUid(isConfigKind(kind) ? key : `${key} ${record.firstSeen}`),
    generation: record.generation,
    resourceVersion: String(record.resourceVersion),
    creationTimestamp: record.firstSeen,
  },
  spec,
  ...(record.status === undefined ? {} : { status: record.status }),
});

/** The objects in one folder of manifests. README.md explains how it differs from a cluster. */
export class FolderObjects implements LocatingObjects {
  readonly #options: FolderObjectsOptions;
  readonly #folder: ManifestFolder;
  readonly #reader: FolderReader;
  readonly #writer: ManifestWriter;
  readonly #records: ObjectRecords;
  readonly #active = new Map<string, Active>();
  #desired: DesiredTree = { objects: new Map(), secrets: new Map(), configMaps: new Map(), problems: [] };
  #listener: SourceListener | undefined;
  #problems = '[]';
  #opened: Promise<void> | undefined;
  /** The last write. Writes run one at a time. */
  #writes: Promise<unknown> = Promise.resolve();

  constructor(options: FolderObjectsOptions) {
    const { folder, dataDir, kinds, records, logger } = options;
    this.#options = options;
    this.#folder = folder;
    this.#reader = new FolderReader(this.#folder, {
      kinds,
      onDesired: (desired) => this.#publish(desired),
      onError: (error) => logger.error({ err: error, dir: folder.path }, 'cannot read the directory, retrying'),
    });
    this.#writer = new ManifestWriter(this.#folder);
    this.#records = new ObjectRecords(records, (error) =>
      logger.error({ err: error, dataDir }, 'cannot write to the data folder; statuses may be lost at the next start'),
    );
  }

  async start(listener: SourceListener, signal: AbortSignal): Promise<void> {
    await this.#open();
    this.#listener = listener;
    for (const { resource } of this.#active.values()) listener.put(resource);
    for (const { configMap } of this.#desired.configMaps.values()) listener.configMaps.put(configMap);
    if (this.#problems !== '[]') listener.problems(JSON.parse(this.#problems) as SourceProblem[]);
    const watch = new FolderWatch({
      folder: this.#folder,
      onChange: (file) => this.#reader.note(file),
      checkMs: () => this.#reader.checkMs,
      logger: this.#options.logger,
    });
    const stop = (): void => {
      this.#listener = undefined;
      this.#reader.stop();
      try {
        this.#records.flushSync();
      } catch (error) {
        this.#options.logger.error(
          { err: error },
          'cannot write to the data folder; the latest status changes are lost',
        );
      }
      watch.stop().catch((error: unknown) => this.#options.logger.debug({ err: error }, 'cannot close the watch'));
    };
    signal.addEventListener('abort', stop, { once: true });
    await watch.start();
    // This check finds changes that were made between the first check and the start of the watch.
    await this.#reader.check();
    if (signal.aborted) stop();
  }

  async get(ref: ObjectRef): Promise<ResourceObject | undefined> {
    const key = manifestKey(ref);
    await this.#checkFile(key);
    return this.#active.get(key)?.resource;
  }

  whereIs(ref: ObjectRef): string | undefined {
    return this.#active.get(manifestKey(ref))?.manifest.where;
  }

  async objectText(ref: ObjectRef): Promise<string | undefined> {
    const key = manifestKey(ref);
    await this.#checkFile(key);
    const manifest = this.#desired.objects.get(key);
    return manifest && this.#writer.objectText(ref, this.#reader.containingFile(manifest));
  }

  apply(object: DesiredObject, text?: EditedText): Promise<ResourceObject> {
    return this.#inTurn(async () => {
      const key = manifestKey({ kind: object.kind, ...object.metadata });
      const file = await this.#editableFile(key);
      const written = await this.#writer.write(object, file, text);
      await this.#reader.check({ files: [written], force: true });
      const resource = this.#active.get(key)?.resource;
      if (resource === undefined)
        throw new SourceError('Unavailable', `${written} changed again right after it was written`);
      return resource;
    });
  }

  delete(ref: ObjectRef, version?: ObjectVersion): Promise<void> {
    return this.#inTurn(async () => {
      const key = manifestKey(ref);
      const file = await this.#editableFile(key);
      if (file === undefined) throw notFound(ref);
      const { uid, resourceVersion } = this.#active.get(key)?.resource.metadata ?? {};
      if (version !== undefined && (version.uid !== uid || version.resourceVersion !== resourceVersion))
        throw changed(key);
      await this.#writer.remove(ref, file);
      await this.#reader.check({ files: [file], force: true });
      if (!this.#active.has(key)) await this.#options.secrets.removeOwned(ref.namespace, derivedUid(key));
    });
  }

  async writeStatus(
    ref: ObjectRef,
    status: Readonly<Record<string, unknown>>,
    resourceVersion?: string,
  ): Promise<ResourceObject> {
    await this.#open();
    const key = manifestKey(ref);
    const active = this.#active.get(key);
    const record = this.#records.get(key);
    if (active === undefined || record === undefined) throw notFound(ref);
    if (resourceVersion !== undefined && resourceVersion !== String(record.resourceVersion)) {
      throw changed(key);
    }
    const merged = mergePatch(record.status, status);
    if (canonicalJson(merged) === canonicalJson(record.status)) return active.resource;
    this.#records.setStatus(key, record, merged);
    return this.#put(active.manifest).resource;
  }

  /** Resolves with the Secret in a manifest, or with undefined if there is none. */
  async secret(namespace: string, name: string): Promise<ManifestSecret | undefined> {
    await this.#open();
    return this.#desired.secrets.get(manifestKey({ kind: 'Secret', namespace, name }));
  }

  /** Reads the data folder and the directory, once. Rejects with `SourceError`. */
  #open(): Promise<void> {
    this.#opened ??= this.#load();
    return this.#opened;
  }

  async #load(): Promise<void> {
    const { dataDir, records, secrets } = this.#options;
    await this.#folder.check();
    try {
      await mkdir(dataDir, { recursive: true, mode: 0o700 });
      await secrets.open();
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error);
      throw new SourceError('Forbidden', `cannot write the data folder ${dataDir}: ${reason}`, { cause: error });
    }
    try {
      await this.#records.load();
    } catch (error) {
      const message = `cannot use ${records}; fix it, or remove it to start over`;
      throw new SourceError('Invalid', message, { cause: error });
    }
    await this.#reader.check();
  }

  /** Checks the file that contains or contained the object. A new object may be in any file. */
  async #checkFile(key: string): Promise<void> {
    await this.#open();
    const manifest = this.#desired.objects.get(key);
    if (manifest !== undefined) await this.#reader.check({ files: [this.#reader.containingFile(manifest)] });
    if (!this.#desired.objects.has(key)) await this.#reader.check();
  }

  /** Resolves with the file that now contains an object, or with undefined if none does. Rejects if the file cannot be edited. */
  async #editableFile(key: string): Promise<string | undefined> {
    await this.#checkFile(key);
    const manifest = this.#desired.objects.get(key);
    if (manifest === undefined) return undefined;
    const file = this.#reader.containingFile(manifest);
    if (this.#reader.isBroken(file)) throw new SourceError('Invalid', `${file} is broken; fix it first`);
    return file;
  }

  async #inTurn<T>(write: () => Promise<T>): Promise<T> {
    const turn = this.#writes.then(write, write);
    this.#writes = turn.catch(() => undefined);
    return turn;
  }

  /** Reports the differences from the previous state to the listener. */
  #publish(desired: DesiredTree): void {
    const { configMaps } = this.#desired;
    this.#desired = desired;
    for (const [key, { configMap }] of configMaps)
      if (!desired.configMaps.has(key)) this.#listener?.configMaps.remove(configMap);
    for (const [key, { configMap }] of desired.configMaps)
      if (configMaps.get(key)?.configMap !== configMap) this.#listener?.configMaps.put(configMap);
    const gone = [...this.#records.keys()].filter((key) => !desired.objects.has(key));
    for (const key of gone) {
      this.#records.forget(key);
      const before = this.#active.get(key);
      this.#active.delete(key);
      if (before !== undefined) this.#listener?.remove(before.resource);
    }
    for (const [key, manifest] of desired.objects) {
      const before = this.#active.get(key);
      if (before?.manifest === manifest) continue;
      const isNew = this.#records.see(manifest);
      if (isNew || before === undefined) this.#put(manifest);
      else this.#active.set(key, { manifest, resource: before.resource });
    }
    const problems = JSON.stringify(desired.problems);
    if (problems === this.#problems) return;
    this.#problems = problems;
    this.#listener?.problems(desired.problems);
  }

  #put(manifest: ManifestObject): Active {
    const record = this.#records.get(manifest.key);
    if (record === undefined) throw new Error(`no record of ${manifest.key}`);
    const active = { manifest, resource: toResource(manifest, record) };
    this.#active.set(manifest.key, active);
    this.#listener?.put(active.resource);
    return active;
  }
}

const changed = (key: string): SourceError =>
  new SourceError('Conflict', `${key} changed since it was read: read it again, then retry`);

const notFound = (ref: ObjectRef): SourceError =>
  new SourceError('NotFound', `there is no ${ref.kind} "${ref.name}" in namespace "${ref.namespace}"`);
