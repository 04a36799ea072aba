import { item } from '../../docs/generate/markdown.ts';
import { describeValues, type ChartValue } from './describe-values.ts';

const defaultText = ({ byDefault }: ChartValue): string =>
  byDefault === undefined ? '' : `default \`${JSON.stringify(byDefault)}\``;

const isSetting = ({ path }: ChartValue): boolean => path[1] === 'settings';

const list = (values: readonly ChartValue[]): string =>
  values.map((value) => item(`\`${value.path.join('.')}\``, [defaultText(value)], [value.description])).join('\n');

/** Returns the chart's README.md. */
export const chartReadme = (): string => {
  const values = describeValues();
  return `# charts/standin

<!-- Generated from charts/generate by \`npm run generate\`. -->

Installs Standin's operator, gateways and dashboard. [docs/guides/install.md](../../docs/guides/install.md) describes the installation, and [docs/reference/security.md](../../docs/reference/security.md) lists every permission.

\`\`\`console
$ helm install standin charts/standin -n standin-system --create-namespace --set clickhouse.embedded.enabled=true    # for evaluation
$ helm install standin charts/standin -n standin-system --create-namespace \\
    --set clickhouse.url=http://clickhouse:8123 --set clickhouse.existingSecret=clickhouse-login    # a Secret with username and password
\`\`\`

Requires Kubernetes 1.31 or newer and Helm 3.17 or newer. Install one release per namespace. Helm checks all values against \`values.schema.json\` and rejects unknown ones.

## Values

${list(values.filter((value) => !isSetting(value)))}

## Process settings

An unset value keeps the process's default. [docs/reference/configuration.md](../../docs/reference/configuration.md) lists all settings with their environment
variables. The chart sets those that are missing here, based on the values above.

${list(values.filter(isSetting))}
`;
};
