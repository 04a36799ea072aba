import { migrationScript, openLogStore } from '@standin/logstore';
import type { ClickHouseOptions } from '../clickhouse-options.ts';
import { PlainError } from '../plain-error.ts';
import { stderrLogger } from '../stderr-logger.ts';
import { stdout } from '../terminal.ts';

export interface MigrateOptions extends Omit<ClickHouseOptions, 'clickhouseUrl'> {
  /** Required unless `print`. */
  readonly clickhouseUrl?: string | undefined;
  /** Prints the statements without running them. */
  readonly print: boolean;
}

/** `standin migrate`. Rejects with a `LogStoreError` if ClickHouse is unreachable or rejects a statement. */
export const migrateLog = async (options: MigrateOptions): Promise<void> => {
  const { print, clickhouseUrl: url, clickhouseUser: username, clickhousePassword: password } = options;
  const { database, cluster } = options;
  if (print) {
    stdout.lines(await migrationScript({ database, cluster }));
    return;
  }
  if (url === undefined) throw new PlainError('--clickhouse-url says where; or --print, to see the statements');
  const logger = stderrLogger();
  const store = openLogStore({ url, username, password, database, cluster, logger });
  try {
    await store.migrate();
    stdout.line(`The tables of the database ${database} are up to date.`);
  } finally {
    await store.close();
  }
};
