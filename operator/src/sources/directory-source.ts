import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  OPERATION_KINDS,
  CONFIG_KINDS,
  isConfigKind,
  objectRef,
  SourceError,
  TEMPORARY_LABEL,
  type DesiredObject,
  type Events,
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

/** The parts of a directory source, in the order in which they are read. */
interface Parts {
  readonly manifests: FolderObjects;
  /** Projects and Endpoints with the label `TEMPORARY_LABEL`, in the data folder. */
  readonly temporary: FolderObjects;
  readonly operations: FolderObjects;
}

/** Folders in the data folder, which are created when they are first used. */
interface OwnFolders {
  readonly temporary: string;
  readonly operations: string;
}

/** The objects in a directory that users edit, and in the data folder: temporary ones, and one-time operations. */
class DirectoryObjects implements LocatingObjects {
  readonly #parts: Parts;
  readonly #folders: OwnFolders;
  readonly #temporaryRecords: string;

  constructor(parts: Parts, folders: OwnFolders, temporaryRecords: string) {
    this.#parts = parts;
    this.#folders = folders;
    this.#temporaryRecords = temporaryRecords;
  }

  async start(listener: SourceListener, signal: AbortSignal): Promise<void> {
    const problems: Record<keyof Parts, readonly SourceProblem[]> = { manifests: [], temporary: [], operations: [] };
    const part = (which: keyof typeof problems): SourceListener => ({
      put: (object) => listener.put(object),
      remove: (object) => listener.remove(object),
      problems: (found) => {
        problems[which] = found;
        listener.problems(Object.values(problems).flat());
      },
      configMaps: listener.configMaps,
    });
    await this.#parts.manifests.start(part('manifests'), signal);
    // Those of an earlier process, whose tests have ended.
    for (const old of [this.#folders.temporary, this.#temporaryRecords])
      await rm(old, { recursive: true, force: true });
    for (const which of ['temporary', 'operations'] as const) {
      await this.#open(which);
      await this.#parts[which].start(part(which), signal);
    }
  }

  async get(ref: ObjectRef): Promise<ResourceObject | undefined> {
    return (await this.#of(ref)).get(ref);
  }

  whereIs(ref: ObjectRef): string | undefined {
    return isConfigKind(ref.kind) ? this.#parts.manifests.whereIs(ref) : undefined;
  }

  async objectText(ref: ObjectRef): Promise<string | undefined> {
    return isConfigKind(ref.kind) ? this.#parts.manifests.objectText(ref) : undefined;
  }

  async apply(object: DesiredObject, text?: EditedText): Promise<ResourceObject> {
    return (await this.#of(objectRef(object), object.metadata.labels)).apply(object, text);
  }

  async delete(ref: ObjectRef, version?: ObjectVersion): Promise<void> {
    await (await this.#of(ref)).delete(ref, version);
  }

  async writeStatus(
    ref: ObjectRef,
    status: Readonly<Record<string, unknown>>,
    resourceVersion?: string,
  ): Promise<ResourceObject> {
    return (await this.#of(ref)).writeStatus(ref, status, resourceVersion);
  }

  /** Returns the part that contains an object, or that a new object with these labels belongs to. */
  async #of(ref: ObjectRef, labels: DesiredObject['metadata']['labels'] = {}): Promise<FolderObjects> {
    const { manifests, temporary } = this.#parts;
    const isNewTemporary = TEMPORARY_LABEL in labels && manifests.whereIs(ref) === undefined;
    if (isConfigKind(ref.kind) && !isNewTemporary && temporary.whereIs(ref) === undefined) return manifests;
    const which = isConfigKind(ref.kind) ? 'temporary' : 'operations';
    await this.#open(which);
    return this.#parts[which];
  }

  async #open(which: keyof OwnFolders): Promise<void> {
    const path = this.#folders[which];
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
  const temporaryFolder = new ManifestFolder(join(dataDir, 'temporary'), undefined);
  const temporaryRecords = join(dataDir, 'state', 'temporary.json');
  const temporary = new FolderObjects({
    ...parts,
    folder: temporaryFolder,
    kinds: ['Project', 'Endpoint'],
    records: temporaryRecords,
  });
  const folders = { temporary: temporaryFolder.path, operations: folder.path };
  return {
    objects: new DirectoryObjects({ manifests, temporary, operations }, folders, temporaryRecords),
    secrets: new FolderSecrets(manifests, secrets),
    events: loggedEvents(logger),
  };
};
