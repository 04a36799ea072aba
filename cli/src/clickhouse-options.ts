import { CLICKHOUSE_NAME, CLICKHOUSE_NAME_RULE } from '@standin/contract';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';

/** The parsed options from `addClickHouseOptions`. */
export const clickHouseSchema = z.object({
  clickhouseUrl: z.string(),
  clickhouseUser: z.string(),
  clickhousePassword: z.string(),
  clickhouseLoginDir: z.string().optional(),
  database: z.string(),
  cluster: z.string().optional(),
});
export type ClickHouseOptions = z.infer<typeof clickHouseSchema>;

/** The parsed options from `addLogServerOptions`. */
export const logServerOptions = {
  clickhouseUrl: z.string().optional(),
  clickhouseUser: z.string(),
  clickhousePassword: z.string(),
  database: z.string(),
};

/** As `openLogStore` expects it. */
export const logStoreAddress = (options: ClickHouseOptions) => ({
  url: options.clickhouseUrl,
  username: options.clickhouseUser,
  password: options.clickhousePassword,
  loginDir: options.clickhouseLoginDir,
  database: options.database,
  cluster: options.cluster,
});

/** Parses a URL of ClickHouse's HTTP interface. Throws an `InvalidArgumentError`. */
export const parseClickHouseUrl = (text: string): string => {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new InvalidArgumentError('must be a URL such as http://clickhouse:8123.');
  }
  return text;
};

/** Parses the name of a database or a cluster. Throws an `InvalidArgumentError`. */
export const parseClickHouseName = (text: string): string => {
  if (!CLICKHOUSE_NAME.test(text)) throw new InvalidArgumentError(`must be ${CLICKHOUSE_NAME_RULE}.`);
  return text;
};

/**
 * Returns the password option. The password can also come from an environment variable, because other users can see the options of
 * a process.
 */
const clickHousePassword = (): Option =>
  new Option(
    '--clickhouse-password <password>',
    'ClickHouse password; prefer the environment variable, because other users can see command lines',
  )
    .env('STANDIN_CLICKHOUSE_PASSWORD')
    .default('', 'none');

/** The heading, in a command's help, of the options of a command that works on this machine, but can use a ClickHouse server. */
export const CLICKHOUSE_OPTIONS = 'ClickHouse options:';

/** Adds the options of a command that works on this machine, but can use a ClickHouse server. */
export const addLogServerOptions = (command: Command, purpose: string): Command =>
  command
    .option('--clickhouse-url <url>', purpose, parseClickHouseUrl)
    .optionsGroup(CLICKHOUSE_OPTIONS)
    .option('--clickhouse-user <name>', 'ClickHouse user', 'default')
    .addOption(clickHousePassword())
    .option('--database <name>', 'ClickHouse database', parseClickHouseName, 'standin')
    .optionsGroup('Options:');

/**
 * Adds the options of a command that connects to ClickHouse directly. The environment variables have the same names as those of the
 * processes in a cluster.
 */
export const addClickHouseOptions = (command: Command, { urlIsMandatory = true } = {}): Command =>
  command
    .addOption(
      new Option('--clickhouse-url <url>', 'URL of ClickHouse’s HTTP interface')
        .env('STANDIN_CLICKHOUSE_URL')
        .argParser(parseClickHouseUrl)
        .makeOptionMandatory(urlIsMandatory),
    )
    .addOption(
      new Option('--clickhouse-user <name>', 'ClickHouse user').env('STANDIN_CLICKHOUSE_USERNAME').default('default'),
    )
    .addOption(clickHousePassword())
    .addOption(
      new Option(
        '--clickhouse-login-dir <dir>',
        'folder with the files username and password, which replace both options',
      ).env('STANDIN_CLICKHOUSE_LOGIN_DIR'),
    )
    .addOption(
      new Option('--database <name>', 'ClickHouse database')
        .env('STANDIN_CLICKHOUSE_DATABASE')
        .argParser(parseClickHouseName)
        .default('standin'),
    )
    .addOption(
      new Option('--cluster <name>', 'ClickHouse cluster')
        .env('STANDIN_CLICKHOUSE_CLUSTER')
        .argParser(parseClickHouseName),
    );
