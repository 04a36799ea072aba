import { FolderGoneError, type Fingerprint, type FolderScan, type ManifestFolder } from './manifest-folder.ts';
import { readManifest, type ManifestObject } from './manifest-objects.ts';
import { ManifestTree, type DesiredTree } from './manifest-tree.ts';

/** A file is read when nothing happened to it for this long: editors write in several steps. */
const QUIET_MS = 30;

/**
 * Reads what changed in a directory, one look at a time. A directory that is gone keeps what it held: it is more often being
 * replaced (a checkout, a volume) than given up, and who wants no objects removes files.
 */
export class FolderReader {
  readonly #folder: ManifestFolder;
  readonly #onDesired: (desired: DesiredTree) => void;
  readonly #onError: (error: unknown) => void;
  readonly #tree = new ManifestTree();
  readonly #fingerprints = new Map<string, Fingerprint>();
  /** When something last happened to a file. */
  readonly #noted = new Map<string, number>();
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #published = false;
  #stopped = false;

  constructor(
    folder: ManifestFolder,
    callbacks: { readonly onDesired: (desired: DesiredTree) => void; readonly onError: (error: unknown) => void },
  ) {
    this.#folder = folder;
    this.#onDesired = callbacks.onDesired;
    this.#onError = callbacks.onError;
  }

  fileOf(object: ManifestObject): string {
    return this.#tree.fileOf(object);
  }

  isBroken(file: string): boolean {
    return this.#tree.isBroken(file);
  }

  /** Something happened to a file, or somewhere: look when it is quiet. */
  note(file: string | undefined): void {
    if (file !== undefined && this.#folder.isManifest(file)) this.#noted.set(file, performance.now());
    this.#lookSoon();
  }

  /** Looks now, after a look that is under way. `written` is read even if it seems unchanged or busy: we wrote it. */
  look(written?: string): Promise<void> {
    const look = this.#looking.then(() => this.#look(written));
    this.#looking = look.catch(() => undefined);
    return look;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #lookSoon(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.look()
        .catch(this.#onError)
        .finally(() => {
          if (this.#noted.size > 0) this.#lookSoon();
        });
    }, QUIET_MS);
  }

  async #look(written: string | undefined): Promise<void> {
    const problemBefore = this.#problem;
    let scan: FolderScan | undefined;
    try {
      scan = await this.#folder.scan();
      this.#problem = scan.tooMany ? 'too many files; those after the first 20,000 are not read' : undefined;
    } catch (error) {
      if (!(error instanceof FolderGoneError)) throw error;
      this.#problem = 'the directory is gone; what it held stays in force until it is back';
    }
    const changed = scan !== undefined && (await this.#read(scan, written));
    if (!changed && this.#problem === problemBefore && written === undefined && this.#published) return;
    this.#published = true;
    const desired = this.#tree.desired();
    const own = this.#problem === undefined ? [] : [{ where: this.#folder.path, message: this.#problem }];
    this.#onDesired({ ...desired, problems: [...own, ...desired.problems] });
  }
  /** True if the tree changed. */
  async #read(scan: FolderScan, written: string | undefined): Promise<boolean> {
    let changed = false;
    const seen = new Set(scan.files.map(({ file }) => file));
    for (const file of this.#tree.files) {
      if (seen.has(file) || (file !== written && this.#isBusy(file))) continue;
      this.#tree.remove(file);
      this.#fingerprints.delete(file);
      changed = true;
    }
    for (const { file, fingerprint } of scan.files) {
      const isNoted = this.#noted.has(file) || file === written;
      if (!isNoted && this.#fingerprints.get(file) === fingerprint) continue;
      if (file !== written && this.#isBusy(file)) continue;
      this.#noted.delete(file);
      this.#fingerprints.set(file, fingerprint);
      await this.#readFile(file);
      changed = true;
    }
    // Of files that are gone, or were never there.
    for (const file of this.#noted.keys()) if (!this.#isBusy(file)) this.#noted.delete(file);
    return changed;
  }

  #isBusy(file: string): boolean {
    const since = this.#noted.get(file);
    return since !== undefined && performance.now() - since < QUIET_MS;
  }

  async #readFile(file: string): Promise<void> {
    try {
      this.#tree.put(file, readManifest(await this.#folder.read(file), file));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') this.#tree.remove(file);
      else this.#tree.putUnreadable(file, `cannot be read: ${code ?? message}`);
    }
  }
}
