import { readdir, rmdir } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import { drainedIncarnation } from '../record/spool/spool-folder.ts';
import type { Quarantine } from './quarantine.ts';

export interface DrainedFoldersOptions {
  /** The folder that all incarnations share. */
  readonly dir: string;
  readonly quarantine: Quarantine;
  /** Told of each of them, until it resolves. */
  readonly onDrained: (incarnation: string) => Promise<void>;
  readonly logger: Logger;
}

/** Folders of incarnations that are no more, and whose every record is in ClickHouse: they stay until the operator knows that. */
export class DrainedFolders {
  readonly #options: DrainedFoldersOptions;
  #running: Promise<void> | undefined;

  constructor(options: DrainedFoldersOptions) {
    this.#options = options;
  }

  /** Resolves after one attempt for each. What fails is there at the next call. */
  tell(): Promise<void> {
    this.#running ??= this.#tellAll().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #tellAll(): Promise<void> {
    const { dir, logger } = this.#options;
    try {
      for (const name of await readdir(dir)) {
        const incarnation = drainedIncarnation(name);
        if (incarnation === undefined) continue;
        await this.#tellOne(incarnation);
        await rmdir(path.join(dir, name));
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      logger.info({ reason }, 'what an earlier process of this gateway held cannot be settled now, trying again later');
    }
  }

  /** What is in quarantine was accepted and is not in the log: with it, what the log has of a process is too little. */
  async #tellOne(incarnation: string): Promise<void> {
    if (this.#options.quarantine.count === 0) await this.#options.onDrained(incarnation);
  }
}
