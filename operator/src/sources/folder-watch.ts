import { join, relative, sep } from 'node:path';
import { watch, type FSWatcher } from 'chokidar';
import type { Logger } from 'pino';
import type { ManifestFolder } from './manifest-folder.ts';

/** The file system loses events now and then (a removed directory, a full queue): this often we look for ourselves. */
const LOOK_INTERVAL_MS = 2_000;
/** With very many files, less often: looking may take a fiftieth of the time. */
const LOOK_PAUSE_FACTOR = 50;
/** The directory's return is noticed within this time. */
const IDENTITY_INTERVAL_MS = 250;

export interface FolderWatchOptions {
  readonly folder: ManifestFolder;
  /** A file, relative to the folder, may have changed; undefined: look at everything. */
  readonly onChange: (file: string | undefined) => void;
  /** How long the last look at everything took. */
  readonly lookMs: () => number;
  readonly logger: Logger;
}

/**
 * Says when to look at a directory, rather too often than too late. Survives that the directory is deleted and made again.
 */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  #watcher: FSWatcher | undefined;
  #identity: string | undefined;
  #identityTimer: NodeJS.Timeout | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  #checking = false;
  readonly #stopping = Promise.withResolvers<undefined>();
  #stopped = false;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /** Resolves when changes are seen, or when the watch is stopped. */
  async start(): Promise<void> {
    await this.#checkIdentity();
    if (this.#stopped) return;
    this.#identityTimer = setInterval(() => void this.#checkIdentity(), IDENTITY_INTERVAL_MS);
    this.#lookAtIntervals();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopping.resolve(undefined);
    clearInterval(this.#identityTimer);
    clearTimeout(this.#lookTimer);
    await this.#watcher?.close();
  }

  #lookAtIntervals(): void {
    if (this.#stopped) return;
    const pauseMs = Math.max(LOOK_INTERVAL_MS, this.#options.lookMs() * LOOK_PAUSE_FACTOR);
    this.#lookTimer = setTimeout(() => {
      this.#options.onChange(undefined);
      this.#lookAtIntervals();
    }, pauseMs);
  }

  /** Another directory in the place of the old one needs another watch. Never rejects. */
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
      // We wait until a file is quiet, ourselves.
      atomic: false,
      awaitWriteFinish: false,
    });
    this.#watcher = watcher;
    const note = (path: string): void => {
      if (!folder.ignores(path)) onChange(relative(folder.path, path).split(sep).join('/'));
    };
    watcher.on('all', (_, path) => note(path));
    // chokidar reports at most one change of a file in 50 ms; the raw events show the later ones, too.
    watcher.on('raw', (_, path, details) => {
      const { watchedPath } = (details ?? {}) as { watchedPath?: string };
      if (typeof path !== 'string' || watchedPath === undefined) return;
      note(watchedPath.endsWith(`${sep}${path}`) ? watchedPath : join(watchedPath, path));
    });
    watcher.on('error', (error) =>
      logger.warn({ err: error }, 'cannot watch part of the directory; looking at intervals'),
    );
    const ready = new Promise<void>((resolve) => {
      watcher.once('ready', resolve);
      // Out of watches, say: the looks at intervals remain.
      watcher.once('error', () => resolve());
    });
    // One that is closed before it is ready never says so.
    await Promise.race([ready, this.#stopping.promise]);
  }
}
