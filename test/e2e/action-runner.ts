import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { parse } from 'yaml';
import { z } from 'zod';
import { runCommand } from '../cluster/run-command.ts';

/** Runs the steps of a composite action as a GitHub runner does, as far as our action needs it. Everything else is an error. */

const stepSchema = z.strictObject({
  id: z.string().optional(),
  name: z.string(),
  if: z.string().optional(),
  shell: z.literal('bash').optional(),
  'working-directory': z.string().optional(),
  env: z.record(z.string(), z.string()).default({}),
  run: z.string().optional(),
  uses: z.string().optional(),
  with: z.record(z.string(), z.string()).default({}),
});
const actionSchema = z.strictObject({
  name: z.string(),
  description: z.string(),
  inputs: z.record(
    z.string(),
    z.strictObject({ description: z.string(), required: z.boolean().optional(), default: z.string().optional() }),
  ),
  runs: z.strictObject({ using: z.literal('composite'), steps: z.array(stepSchema) }),
});
type Step = z.infer<typeof stepSchema>;

export interface ActionRun {
  readonly isFailed: boolean;
  /** The names of the steps that were not skipped. */
  readonly steps: readonly string[];
  /** What the job's log shows. */
  readonly log: string;
  readonly masked: readonly string[];
  readonly summary: string;
  /** The inputs of each action that a step used, such as one that uploads files. */
  readonly used: readonly { readonly uses: string; readonly with: Readonly<Record<string, string>> }[];
}

interface Context {
  readonly inputs: Readonly<Record<string, string>>;
  readonly steps: Record<string, { outcome: string; outputs: Record<string, string> }>;
  isFailed: boolean;
}

/** Runs an action in a workspace. The runner's own files are in `folder`. */
export const runAction = async (
  file: string,
  given: Readonly<Record<string, string>>,
  { workspace, folder }: { readonly workspace: string; readonly folder: string },
): Promise<ActionRun> => {
  const action = actionSchema.parse(parse(await readFile(file, 'utf8')));
  const context: Context = { inputs: inputsFor(action.inputs, given), steps: {}, isFailed: false };
  const temp = path.join(folder, 'temp');
  await mkdir(temp, { recursive: true });
  const files = { GITHUB_OUTPUT: '', GITHUB_PATH: '', GITHUB_STEP_SUMMARY: '' };
  for (const name of Object.keys(files) as (keyof typeof files)[]) files[name] = path.join(folder, name);
  let searchPath = process.env['PATH'] ?? '';
  let output = '';
  const steps: string[] = [];
  const used: { uses: string; with: Record<string, string> }[] = [];
  for (const step of action.runs.steps) {
    const outcome = { outcome: 'skipped', outputs: {} };
    if (step.id !== undefined) context.steps[step.id] = outcome;
    if (!isTruthy(evaluate(step.if ?? 'success()', context))) continue;
    steps.push(step.name);
    if (step.uses !== undefined) {
      used.push({ uses: step.uses, with: expandAll(step.with, context) });
      continue;
    }
    for (const name of ['GITHUB_OUTPUT', 'GITHUB_PATH'] as const) await writeFile(files[name], '');
    const env = { ...process.env, ...files, ...expandAll(step.env, context), PATH: searchPath, RUNNER_TEMP: temp };
    const { code, text } = await runStep(step, { env, folder, cwd: directory(step, context, workspace) });
    output += text;
    outcome.outcome = code === 0 ? 'success' : 'failure';
    outcome.outputs = assignments(await readFile(files.GITHUB_OUTPUT, 'utf8'));
    for (const added of lines(await readFile(files.GITHUB_PATH, 'utf8'))) searchPath = `${added}:${searchPath}`;
    if (code !== 0) context.isFailed = true;
  }
  const { shown, masked } = mask(output);
  return {
    isFailed: context.isFailed,
    steps,
    log: shown,
    masked,
    summary: await readFile(files.GITHUB_STEP_SUMMARY, 'utf8').catch(() => ''),
    used,
  };
};

/** Replaces secrets in the lines after the command that names them, and leaves out commands. */
const mask = (output: string): { readonly shown: string; readonly masked: readonly string[] } => {
  const masked: string[] = [];
  const shown: string[] = [];
  for (const line of lines(output)) {
    const [, secret] = /^::add-mask::(.+)$/.exec(line) ?? [];
    if (secret !== undefined) masked.push(secret);
    else shown.push(masked.reduce((text, value) => text.replaceAll(value, '***'), line));
  }
  return { shown: shown.join('\n'), masked };
};

const inputsFor = (
  declared: z.infer<typeof actionSchema>['inputs'],
  given: Readonly<Record<string, string>>,
): Record<string, string> => {
  const unknown = Object.keys(given).filter((name) => declared[name] === undefined);
  if (unknown.length > 0) throw new Error(`the action has no input ${unknown.join(', ')}`);
  return Object.fromEntries(
    Object.entries(declared).map(([name, { required = false, default: value = '' }]) => {
      if (required && given[name] === undefined) throw new Error(`the input ${name} is required`);
      return [name, given[name] ?? value];
    }),
  );
};

const runStep = async (
  step: Step,
  { env, folder, cwd }: { readonly env: NodeJS.ProcessEnv; readonly folder: string; readonly cwd: string },
): Promise<{ readonly code: number; readonly text: string }> => {
  if (step.run === undefined || step.shell !== 'bash') throw new Error(`${step.name} has no shell or nothing to run`);
  // A workflow's author controls inputs, but in a script, they would be code.
  if (step.run.includes('${{')) throw new Error(`${step.name} inserts an expression into its script`);
  const script = path.join(folder, 'step.sh');
  // One stream, because the order of the lines decides which ones are masked.
  await writeFile(script, `exec 2>&1\n${step.run}`);
  // https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idstepsshell
  const args = ['--noprofile', '--norc', '-eo', 'pipefail', script];
  const { code, stdout } = await runCommand('bash', args, { env, cwd, timeoutMs: 100_000 });
  return { code, text: stdout };
};

const directory = (step: Step, context: Context, workspace: string): string =>
  path.resolve(workspace, expand(step['working-directory'] ?? '.', context));

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
const assignments = (text: string): Record<string, string> =>
  Object.fromEntries(
    lines(text).map((line) => {
      const end = line.indexOf('=');
      return [line.slice(0, end), line.slice(end + 1)];
    }),
  );

const expand = (text: string, context: Context): string =>
  text.replaceAll(/\$\{\{(.*?)\}\}/g, (_, expression: string) => String(evaluate(expression, context)));
const expandAll = (texts: Readonly<Record<string, string>>, context: Context): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, expand(text, context)]));

const isTruthy = (value: string | boolean): boolean => value !== '' && value !== false;

/** Evaluates an expression with `&&`, `||`, comparisons and parentheses. Throws for names and syntax that the runner does not know. */
const evaluate = (expression: string, context: Context): string | boolean => {
  const tokens = expression.match(/'[^']*'|[\w.-]+(?:\(\))?|&&|\|\||[!=]=|[()]|\S/g) ?? [];
  const primary = (): string | boolean => {
    const token = tokens.shift() ?? '';
    if (token === '(') {
      const value = or();
      if (tokens.shift() !== ')') throw new Error(`no closing parenthesis: ${expression}`);
      return value;
    }
    if (token.startsWith("'")) return token.slice(1, -1);
    return lookUp(token, context);
  };
  const comparison = (): string | boolean => {
    const left = primary();
    if (tokens[0] === '==' || tokens[0] === '!=') return (tokens.shift() === '==') === (left === primary());
    return left;
  };
  const and = (): string | boolean => {
    let value = comparison();
    while (tokens[0] === '&&') {
      tokens.shift();
      const right = comparison();
      value = isTruthy(value) ? right : value;
    }
    return value;
  };
  const or = (): string | boolean => {
    let value = and();
    while (tokens[0] === '||') {
      tokens.shift();
      const right = and();
      value = isTruthy(value) ? value : right;
    }
    return value;
  };
  const value = or();
  if (tokens.length > 0) throw new Error(`cannot evaluate ${expression}`);
  return value;
};

const lookUp = (name: string, { inputs, steps, isFailed }: Context): string | boolean => {
  if (name === 'success()') return !isFailed;
  if (name === 'failure()') return isFailed;
  const [kind = '', first = '', property, last = ''] = name.split('.');
  const value =
    kind === 'inputs'
      ? inputs[first]
      : kind === 'steps' && property === 'outcome'
        ? steps[first]?.outcome
        : kind === 'steps' && property === 'outputs'
          ? steps[first]?.outputs[last]
          : undefined;
  if (value === undefined) throw new Error(`${name} is not known`);
  return value;
};
