import { describeSettings, type SettingDescription, type SettingsSchema } from '@standin/contract';
import { clusterDashboardSettings } from '@standin/dashboard';
import { gatewaySettings } from '@standin/gateway';
import { operatorSettings } from '@standin/operator';
import { table } from './markdown.ts';

/**
 * Descriptions of defaults that come from the machine or from the environment. The values themselves would depend on where the
 * document is generated.
 */
const NAMED_BY_THE_MACHINE: Readonly<Record<string, string>> = { name: 'the machine’s hostname' };

const defaultOf = ({ path, schema }: SettingDescription): string => {
  const named = NAMED_BY_THE_MACHINE[path];
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
  return schema.description;
};

const settingsTable = (schema: SettingsSchema): string =>
  table(
    ['setting', 'environment variable', 'default', 'what it does'],
    describeSettings(schema).map((setting) => [
      `\`${setting.path}\``,
      `\`${setting.env}\``,
      defaultOf(setting),
      descriptionOf(setting),
    ]),
  );

export const configurationDoc = (): string => `# Configuration

<!-- Generated from the settings schemas by \`npm run generate\`. -->

Operator, gateway and dashboard read their settings from the environment once, at start. A value that cannot be used, or a \`STANDIN_\`
variable that no setting has, ends the process with a line that names it. Lists are separated by commas; times are in
milliseconds, sizes in bytes.

## Operator

\`operator/src/settings.ts\`

${settingsTable(operatorSettings)}

## Gateway

\`gateway/src/settings.ts\`

${settingsTable(gatewaySettings)}

## Dashboard

\`dashboard/src/settings.ts\`; below \`standin dev\` it has none of these. [dashboard.md](../guides/dashboard.md#on-a-cluster) says how to run it.

${settingsTable(clusterDashboardSettings)}

## \`standin dev\`

Flags: \`standin dev --help\`. It runs operator and gateway in one process with the settings above at their defaults, except that
upstreams with loopback and private addresses are allowed (\`--deny-private-upstreams\` gives the cluster's policy), everything listens
on loopback, and all data is kept in \`--data\` (default \`.standin\`, which git ignores). \`--require-token\` makes the dashboard and
its API ask for a token ([dashboard.md](../guides/dashboard.md#security-in-standin-dev)); ClickHouse always has a password of its own.
`;
