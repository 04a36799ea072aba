import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { errorMessage } from '@standin/contract';
import type { Logger } from 'pino';
import { removeRetired } from '../record/spool/folder-lock.ts';
import { drainedIncarnation } from '../record/spool/spool-folder.ts';
import type { Quarantine } from './quarantine.ts';

export interface DrainedFoldersOptions {
  /** The folder that contains the folders of all incarnations (gateway processes). */
  readonly dir: string;
  readonly quarantine: Quarantine;
  /** Called for each drained folder, unless the quarantine has files. The call is repeated until it resolves. */
  readonly onDrained: (incarnation: string) => Promise<void>;
  readonly logger: Logger;
}

/** Folders of ended incarnations whose records are all in ClickHouse. Kept until the operator has been notified. */
export class DrainedFolders {
  readonly #options: DrainedFoldersOptions;
  #running: Promise<void> | undefined;

  constructor(options: DrainedFoldersOptions) {
    this.#options = options;
  }

  /** Resolves after one attempt for each folder. The next call retries the failed attempts. */
  report(): Promise<void> {
    this.#running ??= this.#reportAll()
      .catch((error: unknown) => this.#logFailure(error))
      .finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #reportAll(): Promise<void> {
    const { dir } = this.#options;
    for (const name of await readdir(dir)) {
      const incarnation = drainedIncarnation(name);
      if (incarnation === undefined) continue;
      await this.#reportOne(incarnation, path.join(dir, name)).catch((error: unknown) => this.#logFailure(error));
    }
  }

  #logFailure(error: unknown): void {
    const reason = errorMessage(error);
    this.#options.logger.info({ reason }, 'could not settle permits of an earlier process, retrying later');
  }

  /**
   * Reports nothing while the quarantine has files, because a request in quarantine was accepted but is missing from the log's
   * count. The folder is removed nevertheless, and all permits that the process held count as used.
   */
  async #reportOne(incarnation: string, folder: string): Promise<void> {
    if (this.#options.quarantine.count === 0) await this.#options.onDrained(incarnation);
    await removeRetired(folder);
  }
}
