import { table } from '../../docs/generate/markdown.ts';
import { describeValues, type ChartValue } from './describe-values.ts';

const defaultText = ({ byDefault }: ChartValue): string =>
  byDefault === undefined ? '' : `\`${JSON.stringify(byDefault)}\``;

const isSetting = ({ path }: ChartValue): boolean => path[1] === 'settings';

const rows = (values: readonly ChartValue[]) =>
  values.map((value) => [`\`${value.path.join('.')}\``, defaultText(value), value.description]);

/** The chart's README.md. */
export const chartReadme = (): string => {
  const values = describeValues();
  return `# charts/standin

<!-- Generated from charts/generate by \`npm run generate\`. -->

Operator, gateways and dashboard of Standin. [docs/install.md](../../docs/install.md) leads through an installation,
[docs/security.md](../../docs/security.md) lists every right.

\`\`\`console
$ helm install standin charts/standin -n standin-system --create-namespace --set clickhouse.embedded.enabled=true    # to try it out
$ helm install standin charts/standin -n standin-system --create-namespace --set clickhouse.url=http://clickhouse:8123
\`\`\`

Kubernetes 1.31 or newer, Helm 3.17 or newer. One release per namespace. All values are checked against \`values.schema.json\`: one that is not below is refused.

## Values

${table(['value', 'default', 'what it does'], rows(values.filter((value) => !isSetting(value))))}

## Settings of the processes

What is not set keeps the default of the process. [docs/configuration.md](../../docs/configuration.md) lists them with their environment
variables; those that are not here follow from the values above.

${table(
  ['value', 'what it does'],
  values.filter(isSetting).map(({ path, description }) => [`\`${path.join('.')}\``, description]),
)}
`;
};
