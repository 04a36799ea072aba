import { Document, isMap, isScalar, type Node, type Pair } from 'yaml';
import { chartReadme } from './chart-readme.ts';
import { defaultValues, describeValues, valuesSchema } from './describe-values.ts';
import { grafanaDashboard } from './grafana-dashboard.ts';

/**
 * Returns the files in charts/standin that are generated from the code, as text by path, relative to the checkout's root.
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

const COLUMNS = 118;

const HEADER = ` Generated from charts/generate by \`npm run generate\`; README.md shows the same values as a table. values.schema.json rejects unknown values.`;

const wrap = (text: string, columns: number): string => {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < columns) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => ` ${line}`).join('\n');
};

/** Returns values.yaml, which contains every default with its description above it. */
const valuesYaml = (): string => {
  const document = new Document(defaultValues());
  const comments = new Map(describeValues().map(({ path, description }) => [path.join('.'), description]));
  const settings = 'Process settings, listed in README.md. An unset value keeps its default.';
  for (const component of ['operator', 'gateway', 'dashboard']) comments.set(`${component}.settings`, settings);
  comment(document.contents, [], comments);
  document.commentBefore = HEADER;
  return document.toString({ lineWidth: 0 });
};

const comment = (node: Node | null, path: readonly string[], comments: ReadonlyMap<string, string>): void => {
  if (!isMap(node)) return;
  for (const { key, value } of node.items as Pair<Node, Node | null>[]) {
    if (!isScalar(key)) continue;
    const at = [...path, String(key.value)];
    const text = comments.get(at.join('.'));
    if (text !== undefined) key.commentBefore = wrap(text, COLUMNS - 2 * at.length);
    else comment(value, at, comments);
  }
};
