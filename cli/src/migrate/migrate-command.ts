import type { Command } from 'commander';
import { z } from 'zod';
import { addClickHouseOptions, clickHouseSchema } from '../clickhouse-options.ts';

const migrateSchema = clickHouseSchema.partial({ clickhouseUrl: true }).extend({ print: z.boolean().default(false) });

/** For users who may create tables, where gateways may not. */
export const addMigrateCommand = (program: Command): void => {
  const command = program
    .command('migrate')
    .description('create the log’s database and tables, or bring them up to date; safe at any time, and to repeat')
    .option('--print', 'print the statements instead of running them');
  addClickHouseOptions(command, { urlIsMandatory: false }).action(async (raw: unknown) =>
    (await import('./migrate-log.ts')).migrateLog(migrateSchema.parse(raw)),
  );
};
