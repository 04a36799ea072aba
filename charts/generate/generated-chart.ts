import { chartReadme } from './chart-readme.ts';
import { valuesSchema } from './describe-values.ts';
import { grafanaDashboard } from './grafana-dashboard.ts';
import { valuesYaml } from './values-yaml.ts';

/**
 * The files of charts/standin that are generated from the code: path relative to the checkout's root, and text.
 * crds/src/generate.ts generates the CRDs.
 */
export const generatedChart = (): ReadonlyMap<string, string> =>
  new Map([
    ['charts/standin/values.yaml', valuesYaml()],
    ['charts/standin/values.schema.json', json(valuesSchema())],
    ['charts/standin/files/grafana-dashboard.json', json(grafanaDashboard())],
    ['charts/standin/README.md', chartReadme()],
  ]);

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
