import { describeSettings, ownMember, type SettingDescription, type SettingsSchema } from '@standin/contract';
import { clusterDashboardSettings } from '@standin/dashboard';
import { gatewaySettings } from '@standin/gateway';
import { operatorSettings } from '@standin/operator';
import { linked, table } from './markdown.ts';

/**
 * Descriptions of defaults that come from the machine or from the environment. The values themselves would depend on where the
 * document is generated.
 */
const NAMED_BY_THE_MACHINE: Readonly<Record<string, string>> = { name: 'the machine’s hostname' };

const defaultOf = ({ path, schema }: SettingDescription): string => {
  const named = ownMember(NAMED_BY_THE_MACHINE, path);
  if (named !== undefined) return named;
  const { success, data } = schema.safeParse(undefined);
  if (!success) return '**required**';
  const text = Array.isArray(data)
    ? data.join(',')
    : data === undefined
      ? ''
      : JSON.stringify(data).replaceAll('"', '');
  return text === '' ? '' : `\`${text}\``;
};

const descriptionOf = ({ path, schema }: SettingDescription): string => {
  if (schema.description === undefined) throw new Error(`setting ${path} has no description`);
  return linked(schema.description, 'docs/reference/configuration.md');
};

const PROCESSES = {
  operator: operatorSettings,
  gateway: gatewaySettings,
  dashboard: clusterDashboardSettings,
} as const satisfies Readonly<Record<string, SettingsSchema>>;
type ProcessName = keyof typeof PROCESSES;

const HEAD = ['setting', 'environment variable', 'default', 'what it does'];
const rowsOf = (schema: SettingsSchema): string[][] =>
  describeSettings(schema).map((setting) => [
    `\`${setting.path}\``,
    `\`${setting.env}\``,
    defaultOf(setting),
    descriptionOf(setting),
  ]);

/** Returns the processes that have a setting with the same row. */
const processesWith = (row: readonly string[]): string[] =>
  Object.entries(PROCESSES)
    .filter(([, schema]) => rowsOf(schema).some((other) => other.join() === row.join()))
    .map(([name]) => name);

const settingsTable = (name: ProcessName): string =>
  table(
    HEAD,
    rowsOf(PROCESSES[name]).filter((row) => processesWith(row).length === 1),
  );

/** Lists the settings that have the same meaning in several processes. */
const sharedSettingsTable = (): string => {
  const rows = new Map(Object.values(PROCESSES).flatMap((schema) => rowsOf(schema).map((row) => [row.join(), row])));
  const shared = [...rows.values()].map((row) => [...row, processesWith(row).join(', ')]);
  return table(
    [...HEAD, 'processes'],
    shared.filter(([, , , , processes = '']) => processes.includes(',')),
  );
};

export const configurationDoc = (): string => `# Configuration

<!-- Generated from the settings schemas by \`npm run generate\`. -->

Operator, gateway and dashboard read their settings from the environment once, when they start. If a value is invalid, or a
\`STANDIN_\` variable is unknown, the process exits with a message that names the variable. Lists are separated by commas. Times are
in milliseconds, and sizes are in bytes. In a cluster, set them with the [values of the chart](../../charts/standin/README.md).

## Several processes

${sharedSettingsTable()}

## Operator

\`operator/src/settings.ts\`

${settingsTable('operator')}

## Gateway

\`gateway/src/settings.ts\`

${settingsTable('gateway')}

## Dashboard

\`dashboard/src/settings.ts\`. The dashboard of \`standin dev\` does not use these settings.
[dashboard.md](../guides/dashboard.md#on-a-cluster) describes how to run the dashboard on a cluster.

${settingsTable('dashboard')}

## \`standin dev\`

[\`standin dev --help\`](cli.md#standin-dev) lists the options. The command runs operator and gateway in one process, with the defaults
above and these differences:

- Upstreams with loopback and private addresses are allowed. \`--deny-private-upstreams\` applies the cluster's policy instead.
- Everything listens on loopback.
- Of the environment variables above, only \`STANDIN_CLICKHOUSE_PASSWORD\` is read.
- All data is kept in \`--data\` (default \`.standin\`, which git ignores).
- \`--require-token\` makes the dashboard and its API require a token ([dashboard.md](../guides/dashboard.md#security-in-standin-dev)).
  ClickHouse always has a password of its own.
`;
