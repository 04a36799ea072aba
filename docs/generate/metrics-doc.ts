import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './checkout.ts';
import { GENERATED, item, linked, plain } from './markdown.ts';

const FILE = 'docs/reference/metrics.md';

/** The workspaces with metrics, and the heading of each. */
const PROCESSES: Readonly<Record<string, string>> = {
  gateway: 'Gateway',
  operator: 'Operator',
  dashboard: 'Dashboard',
  'packages/kube': 'Kubernetes client, in operator and dashboard',
  'packages/process': 'All processes',
};

/** Matches a metric's name, and the string after it if that is the metric's help text. */
const METRIC = /'(standin_[a-z_]+)',\s*(?:help:\s*)?(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")?/g;

/** Returns the metrics of a file as list items, from the calls that create them. Throws if a metric has no help text. */
const metricsIn = (file: string): readonly string[] =>
  [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(METRIC)].map(([, name = '', single, double]) => {
    const help = single ?? double;
    if (help === undefined) throw new Error(`${file}: the help text of ${name} does not follow its name`);
    const text = help.replaceAll(/\\(.)/g, '$1');
    return item(`\`${name}\``, [], [linked(plain(text), FILE)]);
  });

const section = (folder: string, heading: string): string => {
  const files = globSync(`${folder}/src/**/*.ts`, { cwd: ROOT }).filter((file) => !/\.(test|testing)\.ts$/.test(file));
  const items = files.flatMap(metricsIn).sort();
  return items.length === 0 ? '' : `## ${heading}\n\n${items.join('\n')}\n\n`;
};

/** Returns the reference of the metrics, generated from the code that creates them. */
export const metricsDoc = (): readonly [file: string, text: string] => {
  const sections = Object.entries(PROCESSES).map(([folder, heading]) => section(folder, heading));
  const text = `# Metrics

${GENERATED}

These processes serve metrics in Prometheus' text format on their admin port, under \`/metrics\`. Names that end with \`_total\` are
counters.

On a cluster, the port of each pod is 9090, with plain HTTP:

\`\`\`console
$ kubectl port-forward -n standin-system pod/standin-gateway-0 9090 &
$ curl -s http://localhost:9090/metrics
\`\`\`

The [chart](../guides/install.md#monitoring) can create a ServiceMonitor, alerts and a Grafana dashboard.

\`standin dev\` uses free ports. With \`--verbose\`, the line \`gateway listening\` contains the gateway's address as \`adminUrl\`:

\`\`\`console
$ npx standin dev --verbose
{…,"adminUrl":"http://127.0.0.1:36181","gateway":"dev","msg":"gateway listening"}
$ curl -s http://127.0.0.1:36181/metrics      # in a second terminal, with the printed address
\`\`\`

${sections.join('')}## Runtime

The processes also have the default metrics of prom-client for Node.js (\`process_…\`, \`nodejs_…\`). The metrics of the operator's work
queues and leader election have the same names as in client-go and controller-runtime (\`workqueue_…\`, \`controller_runtime_…\`,
\`leader_election_master_status\`).
`;
  return [FILE, text];
};
