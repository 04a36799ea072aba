import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  OPERATION_KINDS,
  CONFIG_KINDS,
  isConfigKind,
  SourceError,
  type DesiredObject,
  type Kind,
  type ObjectRef,
  type ObjectVersion,
  type ResourceObject,
  type SigningSecret,
  type SourceEvent,
  type SourceListener,
  type SourceProblem,
} from '@standin/contract';
import type { Logger } from 'pino';
import { FolderSource } from './folder-source.ts';
import type { EditedText, LocatingSource } from './locating-source.ts';
import { ManifestFolder } from './manifest-folder.ts';
import { objectsFile } from './object-records.ts';

interface DirectorySourceOptions {
  /** The directory with manifests, which are .yaml, .yml and .json files at any depth. */
  readonly dir: string;
  /**
   * The data folder. Contains status, object ages, generated Secrets, and one-time operations. May be inside `dir`, but is never
   * read as manifests.
   */
  readonly dataDir: string;
  readonly logger: Logger;
}

/** Returns the folder for one-time operations, such as Replays, which do not belong among committed manifests. */
export const operationsFolder = (dataDir: string): ManifestFolder =>
  new ManifestFolder(join(dataDir, 'operations'), undefined);
export const operationsRecords = (dataDir: string): string => join(dataDir, 'state', 'operations.json');

/** A source that reads desired state from a directory that users edit, and one-time operations from the data folder. */
class DirectorySource implements LocatingSource {
  readonly #manifests: FolderSource;
  readonly #operations: FolderSource;
  readonly #operationsFolder: ManifestFolder;

  constructor({ dir, dataDir, logger }: DirectorySourceOptions) {
    this.#operationsFolder = operationsFolder(dataDir);
    this.#manifests = new FolderSource({
      folder: new ManifestFolder(dir, dataDir),
      kinds: CONFIG_KINDS,
      records: objectsFile(dataDir),
      dataDir,
      logger,
    });
    this.#operations = new FolderSource({
      folder: this.#operationsFolder,
      kinds: OPERATION_KINDS,
      records: operationsRecords(dataDir),
      dataDir,
      logger,
    });
  }

  async start(listener: SourceListener, signal: AbortSignal): Promise<void> {
    const problems: { manifests: readonly SourceProblem[]; operations: readonly SourceProblem[] } = {
      manifests: [],
      operations: [],
    };
    const part = (which: keyof typeof problems): SourceListener => ({
      put: (object) => listener.put(object),
      remove: (object) => listener.remove(object),
      problems: (found) => {
        problems[which] = found;
        listener.problems([...problems.manifests, ...problems.operations]);
      },
    });
    await this.#manifests.start(part('manifests'), signal);
    await this.#openOperations();
    await this.#operations.start(part('operations'), signal);
  }

  async get(ref: ObjectRef): Promise<ResourceObject | undefined> {
    return (await this.#of(ref.kind)).get(ref);
  }

  whereIs(ref: ObjectRef): string | undefined {
    return isConfigKind(ref.kind) ? this.#manifests.whereIs(ref) : undefined;
  }

  async textOf(ref: ObjectRef): Promise<string | undefined> {
    return isConfigKind(ref.kind) ? this.#manifests.textOf(ref) : undefined;
  }

  async apply(object: DesiredObject, text?: EditedText): Promise<ResourceObject> {
    return (await this.#of(object.kind)).apply(object, text);
  }

  async delete(ref: ObjectRef, version?: ObjectVersion): Promise<void> {
    await (await this.#of(ref.kind)).delete(ref, version);
  }

  async writeStatus(
    ref: ObjectRef,
    status: Readonly<Record<string, unknown>>,
    resourceVersion?: string,
  ): Promise<ResourceObject> {
    return (await this.#of(ref.kind)).writeStatus(ref, status, resourceVersion);
  }

  readSecret(namespace: string, name: string, dataKey: string): Promise<Uint8Array | undefined> {
    return this.#manifests.readSecret(namespace, name, dataKey);
  }

  readSigningSecret(namespace: string, name: string): Promise<SigningSecret | undefined> {
    return this.#manifests.readSigningSecret(namespace, name);
  }

  createSecret(owner: ResourceObject, name: string, data: Readonly<Record<string, string>>): Promise<void> {
    return this.#manifests.createSecret(owner, name, data);
  }

  replaceSecret(
    owner: ResourceObject,
    name: string,
    data: Readonly<Record<string, string>>,
    mark: string,
  ): Promise<void> {
    return this.#manifests.replaceSecret(owner, name, data, mark);
  }

  recordEvent(object: ResourceObject, event: SourceEvent): Promise<void> {
    return this.#manifests.recordEvent(object, event);
  }

  async #of(kind: Kind): Promise<FolderSource> {
    if (isConfigKind(kind)) return this.#manifests;
    await this.#openOperations();
    return this.#operations;
  }

  async #openOperations(): Promise<void> {
    const { path } = this.#operationsFolder;
    try {
      await mkdir(path, { recursive: true, mode: 0o700 });
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error);
      throw new SourceError('Forbidden', `cannot write the data folder ${path}: ${reason}`, { cause: error });
    }
  }
}

/**
 * Creates a source that reads desired state from a directory that users edit, without a cluster. `start` rejects if the directory
 * cannot be read.
 */
export const directorySource = (options: DirectorySourceOptions): LocatingSource => new DirectorySource(options);
