import { readdir, stat } from 'node:fs/promises';
import type { Logger } from 'pino';
import { drainedIncarnation } from '../record/spool/spool-folder.ts';
import { DrainedFolders } from './drained-folders.ts';
import { Inserter } from './inserter.ts';
import type { LogSink } from './log-sink.ts';
import { Orphans } from './orphaned-segments.ts';
import { Quarantine } from './quarantine.ts';

export interface DrainOptions {
  /** The spool of a gateway. */
  readonly dir: string;
  readonly sink: LogSink;
  readonly logger: Logger;
  /** A last segment that has not changed for this long is removed. A younger one is delivered and stays. */
  readonly quietMs: number;
  /** Update the log's tables first. False if ClickHouse's user may only insert. */
  readonly migrate: boolean;
  /**
   * Called for each gateway process whose records are all in the log. Without it, the empty folder stays until the operator is
   * notified, which then settles the permits that the process held.
   */
  readonly onDrained?: ((incarnation: string) => Promise<void>) | undefined;
  /** Stops the work when it aborts. */
  readonly signal: AbortSignal;
}

export interface Drained {
  readonly rows: number;
  /** Files in quarantine now, including earlier ones. */
  readonly quarantined: number;
  /** Segments that remain: delivered but young, or undelivered if `gaveUp`. */
  readonly leftBytes: number;
  /** Gateway processes whose records are all in the log, and which have not been reported to the operator. */
  readonly unreported: number;
  readonly gaveUp: boolean;
}

/**
 * Delivers the segments in a spool whose gateway does not return. Safe while a gateway still uses the spool: a row that is
 * delivered twice is read once. Rejects if the folder cannot be read.
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
    const orphans = new Orphans({ dir, inserter, quarantine, logger, quietMs });
    const steps = orphans.steps();
    let isOver = migrate && !(await inserter.migrate());
    while (!isOver) isOver = (await steps.next()).done === true;
    if (onDrained !== undefined) await new DrainedFolders({ dir, quarantine, logger, onDrained }).report();
    const unreported = (await readdir(dir)).filter((name) => drainedIncarnation(name) !== undefined).length;
    return {
      rows: inserter.deliveredRows,
      quarantined: quarantine.count,
      leftBytes: orphans.bytes,
      unreported,
      gaveUp: inserter.hasGivenUp.aborted,
    };
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
};
