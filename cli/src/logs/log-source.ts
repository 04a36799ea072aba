import { access } from 'node:fs/promises';
import path from 'node:path';
import { openLogStore, startEmbeddedEngine, type LogStore } from '@standin/logstore';
import { readRunFile } from '../dev/run-file.ts';
import { PlainError } from '../plain-error.ts';

export interface LogSourceOptions {
  /** Data folder of a `standin dev`. */
  readonly data: string;
  /** A ClickHouse server instead. */
  readonly clickhouseUrl?: string | undefined;
  readonly clickhouseUser: string;
  readonly clickhousePassword: string;
  readonly database: string;
}

export interface LogSource {
  readonly store: LogStore;
  close(): Promise<void>;
}

/**
 * Opens the log that a command reads: of a ClickHouse server when its URL is given, else of the `standin dev` that runs on the data
 * folder, else of the folder itself, with an engine of our own for as long as the command takes.
 */
export const openLogSource = async (options: LogSourceOptions): Promise<LogSource> => {
  const { clickhouseUrl, clickhouseUser: username, clickhousePassword: password, database } = options;
  if (clickhouseUrl !== undefined) return opened(openLogStore({ url: clickhouseUrl, username, password, database }));

  const running = await readRunFile(path.resolve(options.data));
  if (running !== undefined) {
    const store = openLogStore({ url: running.clickhouse, username, password: '', database });
    const answers = await store.ping().then(
      () => true,
      () => false,
    );
    if (answers) return opened(store);
    await store.close();
  }
  const folder = path.resolve(options.data, 'clickhouse');
  await access(folder).catch(() => {
    throw new PlainError(
      `there is no log in ${options.data}: start standin dev there, or name its folder with --data (a server: --clickhouse-url)`,
    );
  });
  const engine = await startEmbeddedEngine({ dataDir: folder }).catch((error: unknown) => {
    throw new PlainError(`cannot open the log in ${options.data}: ${(error as Error).message}`);
  });
  return opened(openLogStore({ url: engine.url, username, password: '', database }), () => engine.stop());
};

const opened = (store: LogStore, stop: () => Promise<void> = () => Promise.resolve()): LogSource => ({
  store,
  close: async () => {
    await store.close();
    await stop();
  },
});
