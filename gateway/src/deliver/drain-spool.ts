import { readdir, stat } from 'node:fs/promises';
import { SharedPool } from '@standin/contract';
import type { Logger } from 'pino';
import { drainedIncarnation } from '../record/spool/spool-folder.ts';
import { DrainedFolders } from './drained-folders.ts';
import { Inserter } from './inserter.ts';
import type { LogSink } from './log-sink.ts';
import { Orphans } from './orphaned-segments.ts';
import { Quarantine } from './quarantine.ts';

export interface DrainOptions {
  /** The folder of the gateway's spool. */
  readonly dir: string;
  readonly sink: LogSink;
  readonly logger: Logger;
  /** The last segment of a process is removed if it has not changed for this long. Otherwise, it is delivered but stays. */
  readonly quietMs: number;
  /** Whether to update the log tables first. Set to false if the ClickHouse user may only insert. */
  readonly migrate: boolean;
  /**
   * Called for each gateway process whose records are all in the log, unless the quarantine has files. Without this callback, the
   * empty folder stays until the operator is notified and settles the permits that the process held.
   */
  readonly onDrained?: ((incarnation: string) => Promise<void>) | undefined;
  /** Stops the work when aborted. */
  readonly signal: AbortSignal;
}

export interface Drained {
  readonly rows: number;
  /** The number of files in quarantine, including earlier ones. */
  readonly quarantined: number;
  /** Bytes in the remaining segments: in folders that are in use, delivered but too new to remove, or undelivered if `gaveUp`. */
  readonly leftBytes: number;
  /** The number of gateway processes that still run, or whose records another drain is delivering. */
  readonly inUse: number;
  /** The number of gateway processes whose records are all in the log but which have not been reported to the operator. */
  readonly unreported: number;
  readonly gaveUp: boolean;
}

/**
 * Delivers the segments in the spool of a gateway that will not return. Leaves the folders of gateway processes that still run as
 * they are, and those that another drain is delivering. Rejects if the folder cannot be read.
 */
export const drainSpool = async ({
  dir,
  sink,
  logger,
  quietMs,
  migrate,
  onDrained,
  signal,
}: DrainOptions): Promise<Drained> => {
  await stat(dir);
  const quarantine = new Quarantine(dir);
  await quarantine.open();
  const inserter = new Inserter({ sink, quarantine, logger });
  const giveUp = (): void => inserter.giveUp();
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    const orphans = new Orphans({ dir, pool: new SharedPool(Infinity), inserter, quarantine, logger, quietMs });
    const steps = orphans.steps();
    let isOver = migrate && !(await inserter.migrate());
    while (!isOver) isOver = (await steps.next()).done === true;
    if (onDrained !== undefined) await new DrainedFolders({ dir, quarantine, logger, onDrained }).report();
    const unreported = (await readdir(dir)).filter((name) => drainedIncarnation(name) !== undefined).length;
    return {
      rows: inserter.deliveredRows,
      quarantined: quarantine.count,
      leftBytes: orphans.bytes,
      inUse: orphans.inUse,
      unreported,
      gaveUp: inserter.hasGivenUp.aborted,
    };
  } finally {
    signal.removeEventListener('abort', giveUp);
    await inserter.close();
  }
};
