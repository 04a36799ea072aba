import { booleanSetting, httpUrlSetting } from '@standin/contract';
import { z } from 'zod';

/** The settings of each process that uses ClickHouse. */
export const clickHouseSettings = z.object({
  url: httpUrlSetting.default('http://localhost:8123').describe('URL of ClickHouse’s HTTP interface.'),
  username: z
    .string()
    .default('default')
    .describe('ClickHouse user. docs/guides/install.md lists the privileges that each process needs.'),
  password: z.string().default('').describe('Password of the ClickHouse user.'),
  loginDir: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder with the files username and password, such as a mounted Secret. They replace clickhouse.username and clickhouse.password, and are read again for each call.',
    ),
  database: z.string().default('standin').describe('ClickHouse database that holds the log.'),
  cluster: z
    .string()
    .optional()
    .describe('ClickHouse cluster whose replicas store the log. If unset, the log is on a single server.'),
});

/** The settings of a process that also creates the tables. */
export const migratingSettings = clickHouseSettings.extend({
  migrate: booleanSetting
    .default(true)
    .describe(
      'Create or update the log tables before they are first used. Set to false if the ClickHouse user lacks the required privileges.',
    ),
});
