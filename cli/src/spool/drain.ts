import { stat } from 'node:fs/promises';
import path from 'node:path';
import { isMissingFile } from '@standin/contract';
import { drainSpool, reportDrained, type Drained } from '@standin/gateway';
import { openLogStore } from '@standin/logstore';
import { logStoreAddress, type ClickHouseOptions } from '../clickhouse-options.ts';
import { fileErrorText, PlainError } from '../plain-error.ts';
import { awaitStop } from '../shutdown.ts';
import { stderrLogger } from '../stderr-logger.ts';
import { stdout } from '../terminal.ts';

export interface DrainOptions extends ClickHouseOptions {
  /** The last file of a gateway process that has ended is removed if it has not changed for this long. */
  readonly quietSeconds: number;
  /** Whether the command fails if anything is left, or if the operator could not be notified. */
  readonly expectEmpty: boolean;
  readonly migrate: boolean;
  /** Comma-separated config stream URLs. */
  readonly operatorUrls?: string | undefined;
  /** Folder with a gateway's certificate for the config stream. */
  readonly operatorTls: string;
}

/**
 * Runs `standin admin drain`. Rejects with a `PlainError` if the folder cannot be read, a signal arrives before the end, or a condition
 * of `expectEmpty` is not met.
 */
export const drain = async (dir: string, options: DrainOptions): Promise<void> => {
  const logger = stderrLogger();
  const sink = openLogStore({ ...logStoreAddress(options), logger });
  const stop = awaitStop();
  const { operatorUrls = '', operatorTls: tlsDir } = options;
  // An empty variable counts as unset.
  const urls = operatorUrls.split(',').filter((url) => url.trim() !== '');
  const operator = urls.length === 0 ? undefined : { urls, tlsDir };
  try {
    if (options.expectEmpty && (await isNeverUsed(dir))) {
      stdout.line('0 rows delivered: no gateway has written to this folder');
      return;
    }
    const drained = await drainSpool({
      dir,
      sink,
      logger,
      quietMs: options.quietSeconds * 1_000,
      migrate: options.migrate,
      signal: stop.signal,
      onDrained: operator && ((incarnation) => reportDrained(operator, incarnation)),
    });
    stdout.line(describe(drained));
    if (drained.gaveUp)
      throw new PlainError('stopped before everything was delivered: run the command again to continue');
    if (options.expectEmpty) expectEmpty(drained, operator !== undefined);
  } catch (error) {
    if (error instanceof Error && 'code' in error && 'syscall' in error) {
      throw new PlainError(`${dir} ${fileErrorText(error)}`, { cause: error });
    }
    throw error;
  } finally {
    stop.done();
    await sink.close();
  }
};

/** Returns whether the volume has no spool because its gateway never started. */
const isNeverUsed = async (dir: string): Promise<boolean> => {
  await stat(path.dirname(path.resolve(dir)));
  return stat(dir).then(
    () => false,
    (error: unknown) => {
      if (isMissingFile(error)) return true;
      throw error;
    },
  );
};

/** Throws unless the folder can be removed. */
export const expectEmpty = ({ quarantined, leftBytes, inUse, unreported }: Drained, isReported: boolean): void => {
  if (inUse > 0)
    throw new PlainError(
      'a gateway or another drain still uses this folder: run the command again when no gateway uses it any longer',
    );
  if (quarantined > 0) throw new PlainError('rows remain in quarantine: inspect them with standin admin quarantine');
  if (leftBytes > 0)
    throw new PlainError('files remain because their gateway may still be writing: run the command again later');
  if (unreported > 0 && isReported)
    throw new PlainError(
      'the operator was not notified, so the gateway’s unused quota has not been released: run the command again',
    );
};

const describe = ({ rows, quarantined, leftBytes, inUse, gaveUp }: Drained): string =>
  [
    `${rows} ${rows === 1 ? 'row' : 'rows'} delivered`,
    ...(quarantined > 0 ? [`${quarantined} in quarantine (standin admin quarantine shows them)`] : []),
    ...(inUse > 0 ? ['the rest is left to a running gateway or another drain, which delivers it'] : []),
    ...(leftBytes > 0 && inUse === 0 && !gaveUp
      ? [`${leftBytes} delivered bytes kept for now because their gateway may still be writing`]
      : []),
  ].join('; ');
