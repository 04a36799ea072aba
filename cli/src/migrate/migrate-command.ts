import type { Command } from 'commander';
import { z } from 'zod';
import { addClickHouseOptions, clickHouseSchema, logStoreAddress } from '../clickhouse-options.ts';
import { withExamples } from '../examples.ts';
import { PlainError } from '../plain-error.ts';
import { stdout } from '../terminal.ts';

const migrateSchema = clickHouseSchema.partial({ clickhouseUrl: true }).extend({ print: z.boolean().default(false) });

/** Adds the command that creates the tables as a privileged ClickHouse user, for gateways that lack that permission. */
export const addMigrateCommand = (admin: Command): void => {
  const command = admin
    .command('migrate')
    .description('create or update the log database and its tables; safe to run repeatedly')
    .option('--print', 'print the statements instead of running them');
  withExamples(
    command,
    ['Create or update the tables', 'admin migrate --clickhouse-url http://clickhouse:8123 --clickhouse-user admin'],
    ['Show the statements, for an administrator to run', 'admin migrate --print'],
  );
  addClickHouseOptions(command, { urlIsMandatory: false }).action((raw: unknown) =>
    migrateLog(migrateSchema.parse(raw)),
  );
};

/**
 * Creates or updates the tables, or prints the statements. Rejects with a `LogStoreError` if ClickHouse is unreachable or rejects a
 * statement.
 */
const migrateLog = async (options: z.infer<typeof migrateSchema>): Promise<void> => {
  const { print, clickhouseUrl, database, cluster } = options;
  // Loaded on demand, because a static import would slow down every command.
  const { migrationScript, openLogStore } = await import('@standin/logstore');
  if (print) {
    stdout.lines(await migrationScript({ database, cluster }));
    return;
  }
  if (clickhouseUrl === undefined) throw new PlainError('pass --clickhouse-url, or --print to see the statements');
  const { stderrLogger } = await import('../stderr-logger.ts');
  const store = openLogStore({ ...logStoreAddress({ ...options, clickhouseUrl }), logger: stderrLogger() });
  try {
    await store.migrate();
    stdout.line(`The tables in database ${database} are up to date.`);
  } finally {
    await store.close();
  }
};
