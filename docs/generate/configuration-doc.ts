import { describeSettings, ownMember, type SettingDescription, type SettingsSchema } from '@standin/contract';
import { clusterDashboardSettings } from '@standin/dashboard';
import { gatewaySettings } from '@standin/gateway';
import { operatorSettings } from '@standin/operator';
import { item, linked } from './markdown.ts';

/**
 * Descriptions of defaults that come from the machine or from the environment. The values themselves would depend on where the
 * document is generated.
 */
const NAMED_BY_THE_MACHINE: Readonly<Record<string, string>> = { name: 'the machine’s hostname' };

const defaultText = ({ path, schema }: SettingDescription): string => {
  const named = ownMember(NAMED_BY_THE_MACHINE, path);
  if (named !== undefined) return `default: ${named}`;
  const { success, data } = schema.safeParse(undefined);
  if (!success) return 'required';
  const text = Array.isArray(data)
    ? data.join(',')
    : data === undefined
      ? ''
      : JSON.stringify(data).replaceAll('"', '');
  return text === '' ? '' : `default \`${text}\``;
};

const linkedDescription = ({ path, schema }: SettingDescription): string => {
  if (schema.description === undefined) throw new Error(`setting ${path} has no description`);
  return linked(schema.description, 'docs/reference/configuration.md');
};

const PROCESSES = {
  operator: operatorSettings,
  gateway: gatewaySettings,
  dashboard: clusterDashboardSettings,
} as const satisfies Readonly<Record<string, SettingsSchema>>;
type ProcessName = keyof typeof PROCESSES;

const settingItem = (setting: SettingDescription, ...more: readonly string[]): string =>
  item(`\`${setting.path}\``, [`\`${setting.env}\``, ...more, defaultText(setting)], [linkedDescription(setting)]);

/** Returns the processes that have a setting with the same item. */
const processesWith = (setting: SettingDescription): string[] =>
  Object.entries<SettingsSchema>(PROCESSES)
    .filter(([, schema]) => describeSettings(schema).some((other) => settingItem(other) === settingItem(setting)))
    .map(([name]) => name);

const settingsList = (name: ProcessName): string =>
  describeSettings(PROCESSES[name])
    .filter((setting) => processesWith(setting).length === 1)
    .map((setting) => settingItem(setting))
    .join('\n');

/** Lists the settings that have the same meaning in several processes. */
const sharedSettingsList = (): string => {
  const items = Object.values<SettingsSchema>(PROCESSES)
    .flatMap((schema) => describeSettings(schema))
    .map((setting) => ({ setting, processes: processesWith(setting) }))
    .filter(({ processes }) => processes.length > 1)
    .map(({ setting, processes }) => settingItem(setting, processes.join(', ')));
  return [...new Set(items)].join('\n');
};

export const configurationDoc = (): string => `# Configuration

<!-- Generated from the settings schemas by \`npm run generate\`. -->

Operator, gateway and dashboard read their settings from the environment once, when they start. If a value is invalid, or a
\`STANDIN_\` variable is unknown, the process exits with a message that names the variable. Lists are separated by commas. Times are
in milliseconds, and sizes are in bytes. In a cluster, set them with the [values of the chart](../../charts/standin/README.md).

## Several processes

${sharedSettingsList()}

## Operator

${settingsList('operator')}

## Gateway

${settingsList('gateway')}

## Dashboard

The dashboard of \`standin dev\` does not use these settings.

${settingsList('dashboard')}

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
