import { readdir, stat } from 'node:fs/promises';
import type { Logger } from 'pino';
import { drainedIncarnation } from '../record/spool/spool-folder.ts';
import { DrainedFolders } from './drained-folders.ts';
import { Inserter } from './inserter.ts';
import type { LogSink } from './log-sink.ts';
import { Orphans } from './orphans.ts';
import { Quarantine } from './quarantine.ts';

export interface DrainOptions {
  /** A gateway's spool. */
  readonly dir: string;
  readonly sink: LogSink;
  readonly logger: Logger;
  /** A last segment that nobody has written to for this long is removed; a younger one is delivered, and stays. */
  readonly quietMs: number;
  /** Bring the log's tables up to date first; false if ClickHouse's user may only insert. */
  readonly migrate: boolean;
  /**
   * Told of each process of a gateway whose every record is in the log, as `DrainedFolders` does. Without it, what is left of its folder stays,
   * empty, until somebody tells the operator: then what that process held of quotas is settled.
   */
  readonly onDrained?: ((incarnation: string) => Promise<void>) | undefined;
  /** Gives up. */
  readonly signal: AbortSignal;
}

export interface Drained {
  readonly rows: number;
  /** In quarantine now, with what was there before. */
  readonly quarantined: number;
  /** Segments that are still there: delivered, but young; or not delivered, if `gaveUp`. */
  readonly leftBytes: number;
  /** Processes of gateways of which the operator does not know yet that all of theirs is in the log. */
  readonly untold: number;
  readonly gaveUp: boolean;
}

/**
 * Delivers everything that gateways left in a spool, for one whose gateway does not come back. Safe beside a gateway that still uses
 * it: what is delivered twice is read once. Rejects if the folder cannot be read.
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
    if (onDrained !== undefined) await new DrainedFolders({ dir, quarantine, logger, onDrained }).tell();
    const untold = (await readdir(dir)).filter((name) => drainedIncarnation(name) !== undefined).length;
    return {
      rows: inserter.deliveredRows,
      quarantined: quarantine.count,
      leftBytes: orphans.bytes,
      untold,
      gaveUp: inserter.hasGivenUp.aborted,
    };
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
};
