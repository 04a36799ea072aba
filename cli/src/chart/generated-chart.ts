import { chartReadme } from './chart-readme.ts';
import { valuesSchema } from './describe-values.ts';
import { grafanaDashboard } from './grafana-dashboard.ts';
import { valuesYaml } from './values-yaml.ts';

/** What of charts/standin is made from the code: path from the checkout's root, and text. The CRDs are made by crds/src/generate.ts. */
export const generatedChart = (): ReadonlyMap<string, string> =>
  new Map([
    ['charts/standin/values.yaml', valuesYaml()],
    ['charts/standin/values.schema.json', json(valuesSchema())],
    ['charts/standin/files/grafana-dashboard.json', json(grafanaDashboard())],
    ['charts/standin/README.md', chartReadme()],
  ]);

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
