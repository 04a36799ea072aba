import { join, relative, sep } from 'node:path';
import { watch, type FSWatcher } from 'chokidar';
import type { Logger } from 'pino';
import type { ManifestFolder } from './manifest-folder.ts';

/** The folder is also scanned at this interval, because the file system can lose events (a removed directory, a full queue). */
const SCAN_INTERVAL_MS = 2_000;
/** Large folders are scanned less often, so that scans use at most 2 % of the time. */
const SCAN_PAUSE_FACTOR = 50;
/** A directory that reappears is detected within this time. */
const IDENTITY_INTERVAL_MS = 250;

export interface FolderWatchOptions {
  readonly folder: ManifestFolder;
  /** Called when a file, relative to the folder, may have changed. If undefined, any file may have changed. */
  readonly onChange: (file: string | undefined) => void;
  /** Returns the duration of the last scan for all files, in milliseconds. */
  readonly checkMs: () => number;
  readonly logger: Logger;
}

/**
 * Reports when to check a directory. It may also report when nothing has changed. A change that the file system does not report is
 * included in the next regular scan. Keeps working if the directory is deleted and created again.
 */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  #watcher: FSWatcher | undefined;
  #identity: string | undefined;
  #identityTimer: NodeJS.Timeout | undefined;
  #scanTimer: NodeJS.Timeout | undefined;
  #checking = false;
  readonly #stopping = Promise.withResolvers<undefined>();
  #stopped = false;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /** Starts the watch. Resolves when it is ready to detect changes, or is stopped. */
  async start(): Promise<void> {
    await this.#checkIdentity();
    if (this.#stopped) return;
    this.#identityTimer = setInterval(() => void this.#checkIdentity(), IDENTITY_INTERVAL_MS);
    this.#scanAtIntervals();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopping.resolve(undefined);
    clearInterval(this.#identityTimer);
    clearTimeout(this.#scanTimer);
    await this.#watcher?.close();
  }

  #scanAtIntervals(): void {
    if (this.#stopped) return;
    const pauseMs = Math.max(SCAN_INTERVAL_MS, this.#options.checkMs() * SCAN_PAUSE_FACTOR);
    this.#scanTimer = setTimeout(() => {
      this.#options.onChange(undefined);
      this.#scanAtIntervals();
    }, pauseMs);
  }

  /** Starts a new watch if the directory was replaced. Never rejects. */
  async #checkIdentity(): Promise<void> {
    if (this.#checking || this.#stopped) return;
    this.#checking = true;
    try {
      const identity = await this.#options.folder.identity().catch(() => undefined);
      if (identity === this.#identity) return;
      this.#identity = identity;
      await this.#watcher?.close();
      this.#watcher = undefined;
      if (identity !== undefined) await this.#open();
      this.#options.onChange(undefined);
    } finally {
      this.#checking = false;
    }
  }

  async #open(): Promise<void> {
    const { folder, onChange, logger } = this.#options;
    const watcher = watch(folder.path, {
      ignored: (path) => folder.ignores(path),
      ignoreInitial: true,
      // The reader itself waits until a file has stopped changing.
      atomic: false,
      awaitWriteFinish: false,
    });
    this.#watcher = watcher;
    const note = (path: string): void => {
      if (!folder.ignores(path)) onChange(relative(folder.path, path).split(sep).join('/'));
    };
    watcher.on('all', (_, path) => note(path));
    // chokidar reports at most one change per file every 50 ms. The raw events include later changes.
    watcher.on('raw', (_, path, details) => {
      const { watchedPath } = (details ?? {}) as { watchedPath?: string };
      if (typeof path !== 'string' || watchedPath === undefined) return;
      note(watchedPath.endsWith(`${sep}${path}`) ? watchedPath : join(watchedPath, path));
    });
    watcher.on('error', (error) =>
      logger.warn({ err: error }, 'cannot watch part of the directory, scanning at intervals'),
    );
    const ready = new Promise<void>((resolve) => {
      watcher.once('ready', resolve);
      // If the system has no watches left, for example, the regular scans continue.
      watcher.once('error', () => resolve());
    });
    // A watcher that is closed before it is ready never emits `ready`.
    await Promise.race([ready, this.#stopping.promise]);
  }
}
