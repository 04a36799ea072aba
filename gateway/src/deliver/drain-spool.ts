import { stat } from 'node:fs/promises';
import type { Logger } from 'pino';
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
  /** Gives up. */
  readonly signal: AbortSignal;
}

export interface Drained {
  readonly rows: number;
  /** In quarantine now, with what was there before. */
  readonly quarantined: number;
  /** Segments that are still there: delivered, but young; or not delivered, if `gaveUp`. */
  readonly leftBytes: number;
  readonly gaveUp: boolean;
}

/**
 * Delivers everything that gateways left in a spool, for one whose gateway does not come back. Safe beside a gateway that still uses
 * it: what is delivered twice is read once. Rejects if the folder cannot be read.
 */
export const drainSpool = async ({ dir, sink, logger, quietMs, signal }: DrainOptions): Promise<Drained> => {
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
    let isOver = !(await inserter.migrate());
    while (!isOver) isOver = (await steps.next()).done === true;
    // Nobody can be told.
    await new DrainedFolders({ dir, quarantine, logger, onDrained: () => Promise.resolve() }).tell();
    const { deliveredRows: rows } = inserter;
    return { rows, quarantined: quarantine.count, leftBytes: orphans.bytes, gaveUp: inserter.hasGivenUp.aborted };
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
};
