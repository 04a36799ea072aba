import { globSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { buildGoProgram } from '../cluster/go-program.ts';
import { runCommand, type CommandOptions, type CommandResult } from '../cluster/run-command.ts';
import { SYSTEM_NAMESPACE } from './install-standin.ts';

export const CHARTS = path.join(import.meta.dirname, '../../charts');

/** Names of the values files in charts/standin/ci, without `-values.yaml`. */
export const CHART_CASES: readonly string[] = globSync('*-values.yaml', { cwd: path.join(CHARTS, 'standin/ci') })
  .map((name) => name.replace('-values.yaml', ''))
  .sort();

export const valuesFile = (chartCase: string): string => path.join(CHARTS, 'standin/ci', `${chartCase}-values.yaml`);

/** Runs helm and waits until it exits. A failure is a nonzero `code`, not an exception. */
export const helm = async (args: readonly string[], options?: CommandOptions): Promise<CommandResult> =>
  runCommand(await buildGoProgram('helm', console.log), args, options);

export interface RenderOptions {
  /** A case of charts/standin/ci. By default, `default`. */
  readonly chartCase?: string;
  readonly namespace?: string;
  /** `name=value`, for --set. */
  readonly set?: readonly string[];
  /** `name=value`, for --set-string. */
  readonly setText?: readonly string[];
  /** Renders only these templates of the chart, such as `templates/operator/rbac.yaml`. */
  readonly only?: readonly string[];
}

/** Caches Helm's output in this test file by arguments. Templates do not change while the file is running. */
const renders = new Map<string, Promise<string>>();

/**
 * Returns the output of `helm template standin charts/standin` with the values of a case, without the lines of spaces that omitted
 * parts leave. Rejects with Helm's error output.
 */
export const renderChart = (options: RenderOptions = {}): Promise<string> => {
  const { chartCase = 'default', namespace = SYSTEM_NAMESPACE, set = [], setText = [], only = [] } = options;
  const args = [
    ...['template', 'standin', path.join(CHARTS, 'standin'), '--namespace', namespace],
    ...['--values', valuesFile(chartCase)],
    ...set.flatMap((value) => ['--set', value]),
    ...setText.flatMap((value) => ['--set-string', value]),
    ...only.flatMap((template) => ['--show-only', template]),
  ];
  const key = args.join('\n');
  const known = renders.get(key) ?? render(args);
  renders.set(key, known);
  return known;
};

const render = async (args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await helm(args);
  // The message omits the arguments, because tests search it for names that the arguments also contain.
  if (code !== 0) throw new Error(`helm ended with ${code}:\n${stderr}`);
  return stdout.replace(/^ +\n/gm, '');
};

/** An object of a rendered chart. Tests narrow the fields that they read. */
export interface RenderedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export const parseObjects = (yaml: string): readonly RenderedObject[] =>
  parseAllDocuments(yaml)
    .map((document) => document.toJS() as RenderedObject | null)
    .filter((object) => object !== null);

/** Wraps the objects in a List, for kubectl. */
export const asList = (objects: readonly RenderedObject[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
