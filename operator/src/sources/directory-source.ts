import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ACT_KINDS,
  CONFIG_KINDS,
  isConfigKind,
  SourceError,
  type DesiredObject,
  type Kind,
  type ObjectRef,
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
   * The data folder. Contains status, object ages, generated Secrets, and one-time resources. May be inside `dir`, but is never
   * read as manifests.
   */
  readonly dataDir: string;
  readonly logger: Logger;
}

/** Returns the folder for one-time resources, such as Replays, which do not belong among committed manifests. */
export const actsFolder = (dataDir: string): ManifestFolder => new ManifestFolder(join(dataDir, 'acts'), undefined);
export const actsRecords = (dataDir: string): string => join(dataDir, 'state', 'acts.json');

/** A source that reads desired state from a directory that users edit, and one-time resources from the data folder. */
class DirectorySource implements LocatingSource {
  readonly #manifests: FolderSource;
  readonly #acts: FolderSource;
  readonly #actsFolder: ManifestFolder;

  constructor({ dir, dataDir, logger }: DirectorySourceOptions) {
    this.#actsFolder = actsFolder(dataDir);
    this.#manifests = new FolderSource({
      folder: new ManifestFolder(dir, dataDir),
      kinds: CONFIG_KINDS,
      records: objectsFile(dataDir),
      ...{ dataDir, logger },
    });
    this.#acts = new FolderSource({
      folder: this.#actsFolder,
      kinds: ACT_KINDS,
      records: actsRecords(dataDir),
      ...{ dataDir, logger },
    });
  }

  async start(listener: SourceListener, signal: AbortSignal): Promise<void> {
    const problems: { manifests: readonly SourceProblem[]; acts: readonly SourceProblem[] } = {
      manifests: [],
      acts: [],
    };
    const part = (which: keyof typeof problems): SourceListener => ({
      put: (object) => listener.put(object),
      remove: (object) => listener.remove(object),
      problems: (found) => {
        problems[which] = found;
        listener.problems([...problems.manifests, ...problems.acts]);
      },
    });
    await this.#manifests.start(part('manifests'), signal);
    await this.#openActs();
    await this.#acts.start(part('acts'), signal);
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

  async delete(ref: ObjectRef): Promise<void> {
    await (await this.#of(ref.kind)).delete(ref);
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

  releaseSecret(): Promise<void> {
    return this.#manifests.releaseSecret();
  }

  recordEvent(object: ResourceObject, event: SourceEvent): Promise<void> {
    return this.#manifests.recordEvent(object, event);
  }

  async #of(kind: Kind): Promise<FolderSource> {
    if (isConfigKind(kind)) return this.#manifests;
    await this.#openActs();
    return this.#acts;
  }

  async #openActs(): Promise<void> {
    const { path } = this.#actsFolder;
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
