import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildGoProgram } from '../cluster/go-program.ts';
import { runCommand } from '../cluster/run-command.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

const ROOT = path.join(import.meta.dirname, '../..');

let program: string;
let folder: string;

beforeAll(async () => {
  program = await buildGoProgram('actionlint', console.log);
  folder = await createTempFolder('workflows');
  await cp(path.join(ROOT, '.github'), path.join(folder, '.github'), { recursive: true });
  // actionlint looks for it to find the actions of a repository.
  await mkdir(path.join(folder, '.git'));
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Returns what is wrong with the workflows. Other linters, which actionlint runs if they are installed, do not count. */
const lint = async (): Promise<string> => {
  const { stdout, stderr } = await runCommand(program, ['-no-color', '-oneline', '-shellcheck=', '-pyflakes='], {
    cwd: folder,
  });
  return `${stdout}${stderr}`;
};

/** The workflow that users copy from the page, with the action of this checkout. */
const documentedWorkflow = async (): Promise<string> => {
  const page = await readFile(path.join(ROOT, 'docs/start/ci.md'), 'utf8');
  const [, steps = ''] = /^## GitHub Actions$.*?^```yaml\n(.*?)^```$/ms.exec(page) ?? [];
  const local = steps.replace('OWNER/standin/.github/actions/standin@COMMIT', './.github/actions/standin');
  return JSON.stringify({
    on: 'push',
    jobs: { tests: { 'runs-on': 'ubuntu-24.04', steps: parse(local) as object[] } },
  });
};

// GitHub reports such mistakes only when a workflow runs, for some of them during a release.
test('workflows have valid syntax, expressions and inputs of actions', async () => {
  expect(await lint()).toBe('');
});

test('the documented inputs of our action exist', async () => {
  const file = path.join(folder, '.github/workflows/documented.yaml');
  const workflow = await documentedWorkflow();
  await writeFile(file, workflow);
  expect(await lint()).toBe('');
  await writeFile(file, workflow.replace('"manifests"', '"manifest"'));
  expect(await lint()).toContain('"manifest" is not defined in action "Standin"');
});
