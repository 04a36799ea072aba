import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  OPERATION_KINDS,
  CONFIG_KINDS,
  isConfigKind,
  SourceError,
  type DesiredObject,
  type Events,
  type Kind,
  type ObjectRef,
  type ObjectVersion,
  type ResourceObject,
  type SourceListener,
  type SourceProblem,
} from '@standin/contract';
import type { Logger } from 'pino';
import { FolderObjects } from './folder-objects.ts';
import { FolderSecrets } from './folder-secrets.ts';
import type { EditedText, LocatingObjects, LocatingSource } from './locating-source.ts';
import { ManifestFolder } from './manifest-folder.ts';
import { objectsFile } from './object-records.ts';
import { SecretFiles } from './secret-files.ts';

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

/** The objects in a directory that users edit, and the one-time operations in the data folder. */
class DirectoryObjects implements LocatingObjects {
  readonly #manifests: FolderObjects;
  readonly #operations: FolderObjects;
  readonly #operationsPath: string;

  constructor(manifests: FolderObjects, operations: FolderObjects, operationsPath: string) {
    this.#manifests = manifests;
    this.#operations = operations;
    this.#operationsPath = operationsPath;
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
      configMaps: listener.configMaps,
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

  async objectText(ref: ObjectRef): Promise<string | undefined> {
    return isConfigKind(ref.kind) ? this.#manifests.objectText(ref) : undefined;
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

  async #of(kind: Kind): Promise<FolderObjects> {
    if (isConfigKind(kind)) return this.#manifests;
    await this.#openOperations();
    return this.#operations;
  }

  async #openOperations(): Promise<void> {
    const path = this.#operationsPath;
    try {
      await mkdir(path, { recursive: true, mode: 0o700 });
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error);
      throw new SourceError('Forbidden', `cannot write the data folder ${path}: ${reason}`, { cause: error });
    }
  }
}

/** Writes events to the log. */
const loggedEvents = (logger: Logger): Events => ({
  record: ({ kind, metadata: { namespace, name } }, { type, reason, message }) => {
    const level = type === 'Warning' ? 'warn' : 'info';
    logger[level]({ kind, namespace, name, reason, detail: message }, 'event');
    return Promise.resolve();
  },
});

/**
 * Creates a source that reads desired state from a directory that users edit, without a cluster. `start` rejects if the directory
 * cannot be read.
 */
export const directorySource = ({ dir, dataDir, logger }: DirectorySourceOptions): LocatingSource => {
  const secrets = new SecretFiles(join(dataDir, 'secrets'));
  const parts = { dataDir, secrets, logger };
  const manifests = new FolderObjects({
    ...parts,
    folder: new ManifestFolder(dir, dataDir),
    kinds: CONFIG_KINDS,
    records: objectsFile(dataDir),
  });
  const folder = operationsFolder(dataDir);
  const records = operationsRecords(dataDir);
  const operations = new FolderObjects({ ...parts, folder, records, kinds: OPERATION_KINDS });
  return {
    objects: new DirectoryObjects(manifests, operations, folder.path),
    secrets: new FolderSecrets(manifests, secrets),
    events: loggedEvents(logger),
  };
};
