import type { Kind } from '@standin/contract';
import { ManifestEncodingError } from '@standin/crds';
import { FolderGoneError, MANIFEST_FILES_MAX, type Fingerprint, type ManifestFolder } from './manifest-folder.ts';
import { readManifest, type ManifestObject } from './manifest-objects.ts';
import { ManifestTree, type DesiredTree } from './manifest-tree.ts';

/** A file is read when it has not changed for this long, because editors write in several steps. */
const QUIET_MS = 30;
/** Changes in quick succession are handled together. A check waits at most this long for further changes. */
const TOGETHER_MS_MAX = 150;
/** A missing file may have been renamed, so its objects stay up to this long while a new file is still being written. */
const RENAME_MS_MAX = 1_000;
/** Many programs empty a file before they write it. Its objects stay up to this long while the file is empty. */
const EMPTY_MS_MAX = 1_000;

export interface FolderReaderCallbacks {
  /** Called after the first check, and after every check that found changes. */
  readonly onDesired: (desired: DesiredTree) => void;
  readonly onError: (error: unknown) => void;
  /** The kinds that the folder may contain. */
  readonly kinds: readonly Kind[];
}

/** The files to check. If `files` is undefined, all files are checked. */
export interface Check {
  readonly files?: readonly string[];
  /** Whether to read the files even if they seem unchanged or have just changed, because the operator wrote them itself. */
  readonly force?: boolean;
}

interface Found {
  /** The files that a check found. The value is undefined if the file does not exist. */
  readonly files: ReadonlyMap<string, Fingerprint | undefined>;
  /** Whether a file was renamed or removed during the check, so that its new name may be missing from `files`. */
  readonly isMoving: boolean;
}

/**
 * Reads the changes in a directory, one check at a time. If the directory disappears, its objects stay, because the directory is
 * usually being replaced by a checkout or a volume. To remove objects, users remove files.
 */
export class FolderReader {
  /** Duration of the last scan for all files, in milliseconds. */
  checkMs = 0;
  readonly #folder: ManifestFolder;
  readonly #callbacks: FolderReaderCallbacks;
  readonly #tree = new ManifestTree();
  readonly #fingerprints = new Map<string, Fingerprint>();
  /** The files with changes that no check has handled yet, with the time of the last change. */
  readonly #noted = new Map<string, number>();
  /** Whether something changed that is not known to be a manifest, so that all files must be checked. */
  #somewhere = false;
  /** The times of the first and the last change that no check has handled yet. */
  #firstNoteAt = 0;
  #lastNoteAt = 0;
  #checking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #published = false;
  #stopped = false;

  constructor(folder: ManifestFolder, callbacks: FolderReaderCallbacks) {
    this.#folder = folder;
    this.#callbacks = callbacks;
  }

  containingFile(object: ManifestObject): string {
    return this.#tree.containingFile(object);
  }

  isBroken(file: string): boolean {
    return this.#tree.isBroken(file);
  }

  /**
   * Records a change to a file, or to an unknown file. A check follows when the changes have stopped, or after `TOGETHER_MS_MAX`.
   */
  note(file: string | undefined): void {
    const now = performance.now();
    if (file !== undefined && this.#folder.isManifest(file)) this.#noted.set(file, now);
    else this.#somewhere = true;
    this.#lastNoteAt = now;
    this.#checkSoon();
  }

  /** Checks immediately, or after the check in progress. */
  check(check: Check = {}): Promise<void> {
    const checked = this.#checking.then(() => this.#check(check));
    this.#checking = checked.catch(() => undefined);
    return checked;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #checkSoon(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    this.#firstNoteAt = performance.now();
    this.#timer = setTimeout(() => this.#checkWhenQuiet(), QUIET_MS);
  }

  #checkWhenQuiet(): void {
    const now = performance.now();
    const quietInMs = this.#lastNoteAt + QUIET_MS - now;
    if (quietInMs > 0 && now - this.#firstNoteAt < TOGETHER_MS_MAX) {
      this.#timer = setTimeout(() => this.#checkWhenQuiet(), Math.ceil(quietInMs));
      return;
    }
    this.#timer = undefined;
    // With thousands of files, checking all of them may take longer than the change itself.
    const check = this.#somewhere || this.#problem !== undefined ? {} : { files: [...this.#noted.keys()] };
    this.#somewhere = false;
    void this.check(check)
      .catch(this.#callbacks.onError)
      .finally(() => {
        if (this.#noted.size > 0) this.#checkSoon();
      });
  }

  async #check({ files, force = false }: Check): Promise<void> {
    const problemBefore = this.#problem;
    let found: Found | undefined;
    try {
      found = files === undefined ? await this.#findAll() : await this.#find(files);
    } catch (error) {
      if (!(error instanceof FolderGoneError)) throw error;
      this.#problem = 'the directory is missing; its objects stay active until it is back';
    }
    const changed = found !== undefined && (await this.#read(found, force));
    if (!changed && this.#problem === problemBefore && this.#published) return;
    this.#published = true;
    const desired = this.#tree.desired();
    const own = this.#problem === undefined ? [] : [{ where: this.#folder.path, message: this.#problem }];
    this.#callbacks.onDesired({ ...desired, problems: [...own, ...desired.problems] });
  }

  async #findAll(): Promise<Found> {
    const startedAt = performance.now();
    const scan = await this.#folder.scan();
    this.#problem = scan.tooMany
      ? `too many files: only the first ${MANIFEST_FILES_MAX.toLocaleString('en')} are read`
      : undefined;
    const found = new Map<string, Fingerprint | undefined>();
    for (const file of this.#tree.files) found.set(file, undefined);
    for (const { file, fingerprint } of scan.files) found.set(file, fingerprint);
    let { isMoving } = scan;
    for (const [file, notedAt] of this.#noted) {
      if (found.has(file)) continue;
      // The scan may have passed the file's folder before the file was there.
      if (notedAt >= startedAt) isMoving = true;
      // The file no longer exists, or never existed.
      else if (!this.#isBusy(file)) this.#noted.delete(file);
    }
    this.checkMs = performance.now() - startedAt;
    return { files: found, isMoving };
  }

  async #find(files: readonly string[]): Promise<Found> {
    const found = new Map<string, Fingerprint | undefined>();
    for (const file of files) {
      const fingerprint = await this.#folder.fingerprint(file);
      // The file may have been renamed, and the event for its new name may not have arrived yet.
      if (fingerprint === undefined && this.#tree.files.has(file)) return this.#findAll();
      found.set(file, fingerprint);
    }
    // If the whole directory is missing, its files are not removed. The directory is checked last, because it may disappear while
    // its files are being checked.
    await this.#folder.identity();
    return { files: found, isMoving: false };
  }

  /** Reads the changed files, and removes those that are gone. Resolves with true if the tree changed. */
  async #read(found: Found, force: boolean): Promise<boolean> {
    let changed = false;
    const gone: string[] = [];
    const isNewFileBusy = [...this.#noted.keys()].some((file) => !this.#tree.files.has(file) && this.#isBusy(file));
    let isMoving = !force && (found.isMoving || isNewFileBusy);
    for (const [file, fingerprint] of found.files) {
      if (!force && this.#isBusy(file)) continue;
      if (fingerprint === undefined) {
        gone.push(file);
        continue;
      }
      const notedAt = this.#noted.get(file);
      this.#noted.delete(file);
      if (notedAt === undefined && !force && this.#fingerprints.get(file) === fingerprint) continue;
      const isRead = await this.#readFile(file, force ? undefined : (notedAt ?? performance.now()));
      if (isRead) this.#fingerprints.set(file, fingerprint);
      else isMoving = true;
      changed ||= isRead;
    }
    for (const file of gone) {
      // The event for the old name may not have arrived yet.
      if (isMoving && !this.#noted.has(file)) this.note(file);
      if (isMoving && this.#isNoted(file, RENAME_MS_MAX)) continue;
      this.#noted.delete(file);
      changed = this.#remove(file) || changed;
    }
    return changed;
  }

  #isBusy(file: string): boolean {
    return this.#isNoted(file, QUIET_MS);
  }

  /** Returns whether the file changed within the last `ms`. */
  #isNoted(file: string, ms: number): boolean {
    const since = this.#noted.get(file);
    return since !== undefined && performance.now() - since < ms;
  }

  #remove(file: string): boolean {
    this.#fingerprints.delete(file);
    return this.#tree.remove(file);
  }

  /**
   * Reads a file. Resolves with false if the file disappeared again, or if it became empty at about `changedAt`. In these cases,
   * schedules another check.
   */
  async #readFile(file: string, changedAt: number | undefined): Promise<boolean> {
    try {
      const text = await this.#folder.read(file);
      const mayBeRewritten = changedAt !== undefined && performance.now() - changedAt < EMPTY_MS_MAX;
      if (text === '' && mayBeRewritten && this.#tree.files.has(file)) {
        if (!this.#noted.has(file)) this.#noted.set(file, changedAt);
        this.#checkSoon();
        return false;
      }
      this.#tree.put(file, readManifest(text, file, this.#callbacks.kinds));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') {
        this.note(file);
        return false;
      }
      const problem =
        error instanceof ManifestEncodingError
          ? { where: `${file}:${error.line}`, message }
          : { where: file, message: `cannot be read: ${code ?? message}` };
      this.#tree.putUnreadable(file, problem);
    }
    return true;
  }
}
