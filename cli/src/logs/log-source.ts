import { access } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { openLogStore, type LogStore } from '@standin/logstore';
import { findRunning, readRunFile } from '../server/run-file.ts';
import { openEngine } from '../open-engine.ts';
import { PlainError } from '../plain-error.ts';

export interface LogSourceOptions {
  /** The data folder of a `standin dev`. */
  readonly data: string;
  /** Read from this ClickHouse server instead. */
  readonly clickhouseUrl?: string | undefined;
  readonly clickhouseUser: string;
  readonly clickhousePassword: string;
  readonly database: string;
}

export interface LogSource {
  readonly store: LogStore;
  /** Rejects with a `PlainError` if no more rows will be added. */
  checkGrowing(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the log that a command reads: on a ClickHouse server if its URL is given; otherwise, of the `standin dev` that runs on the
 * data folder; otherwise, of the folder itself, with its own engine while the command runs.
 */
export const openLogSource = async (options: LogSourceOptions): Promise<LogSource> => {
  const { data, clickhouseUrl, clickhouseUser: username, clickhousePassword: password, database } = options;
  if (clickhouseUrl !== undefined) {
    const store = openLogStore({ url: clickhouseUrl, username, password, database });
    return { store, checkGrowing: () => Promise.resolve(), close: () => store.close() };
  }

  const dataDir = path.resolve(data);
  const running = await findRunning(dataDir);
  if (running !== undefined) {
    const store = openLogStore({ ...running.clickhouse, database });
    const checkGrowing = async (): Promise<void> => {
      // A crashed process leaves its run file, but its ClickHouse does not run.
      const now = await readRunFile(dataDir);
      if (now?.clickhouse.url !== running.clickhouse.url || !isAlive(now.pid))
        throw new PlainError('standin dev has ended');
    };
    return { store, checkGrowing, close: () => store.close() };
  }

  const folder = path.join(dataDir, 'clickhouse');
  await access(folder).catch(() => {
    throw new PlainError(
      `no log found in ${data}: run standin dev first, or pass --data DIR (or --server, or --clickhouse-url)`,
    );
  });
  const engine = await openEngine({ dataDir: folder });
  const store = openLogStore({ ...engine, database });
  return {
    store,
    checkGrowing: () =>
      Promise.reject(
        new PlainError(`no standin dev runs on ${data}: start it first; standin logs lists what is there`),
      ),
    close: async () => {
      await store.close();
      await engine.stop();
    },
  };
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};
