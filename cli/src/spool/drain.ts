import process from 'node:process';
import { drainSpool, type Drained } from '@standin/gateway';
import { openLogStore } from '@standin/logstore';
import { pino } from 'pino';
import { PlainError } from '../plain-error.ts';
import { refusal } from '../refusal.ts';
import { awaitStop } from '../shutdown.ts';
import type { DrainCommandOptions } from './spool-commands.ts';

/** `standin drain`. Rejects with a `PlainError` if the folder cannot be read, or a signal came before the end. */
export const drain = async (dir: string, options: DrainCommandOptions): Promise<void> => {
  const { clickhouseUrl: url, clickhouseUser: username, clickhousePassword: password, database, cluster } = options;
  const logger = pino({ level: 'info', base: null }, pino.destination({ dest: process.stderr.fd, sync: true }));
  const sink = openLogStore({ url, username, password, database, cluster, logger });
  const stop = awaitStop();
  try {
    const drained = await drainSpool({ dir, sink, logger, quietMs: options.quietSeconds * 1_000, signal: stop.signal });
    console.log(describe(drained));
    if (drained.gaveUp) throw new PlainError('stopped before everything was delivered: start it again to go on');
  } catch (error) {
    if (error instanceof Error && 'code' in error && 'syscall' in error) {
      throw new PlainError(`${dir} ${refusal(error)}`, { cause: error });
    }
    throw error;
  } finally {
    stop.done();
    await sink.close();
  }
};

const describe = ({ rows, quarantined, leftBytes, gaveUp }: Drained): string =>
  [
    `${rows} rows delivered`,
    ...(quarantined > 0 ? [`${quarantined} in quarantine (standin quarantine shows them)`] : []),
    ...(leftBytes > 0 && !gaveUp
      ? [`${leftBytes} bytes kept for a while, though delivered: their gateway may still write`]
      : []),
  ].join('; ');
