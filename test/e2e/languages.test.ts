import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { beforeAll, expect, test } from 'vitest';
import { readRunFile } from '../../cli/src/server/run-file.ts';
import { runCommand, type CommandResult } from '../cluster/run-command.ts';
import { junitClassPath, prepareLanguages, PYTHON } from '../harness/languages.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { ROOT, startDev } from './dev-stand.ts';

const LONG = { timeout: 300_000 };

let folder: string;
let page: string;
let env: NodeJS.ProcessEnv;
let runs = 0;

beforeAll(async () => {
  await prepareLanguages(console.log);
  page = await readFile(path.join(ROOT, 'docs/guides/languages.md'), 'utf8');
  const { url, apiKey, data } = await startDev({ args: ['--api-key-header', 'any-case'] });
  folder = path.join(await createTempFolder('languages'), 'tests');
  await mkdir(folder);
  const api = (await readRunFile(data))?.api;
  const variables = { PROJECT_URL: url, API_KEY: apiKey, STANDIN_URL: api?.url, STANDIN_TOKEN: api?.token };
  env = { ...process.env, ...variables, JARS: junitClassPath() };
}, 600_000);

const RECIPES = {
  python: { file: 'test_orders.py', item: 'tea', script: `${PYTHON} -m pytest -p no:cacheprovider` },
  go: {
    file: 'orders_test.go',
    item: 'coffee',
    // Without cgo, the build needs no C compiler.
    script: 'test -f go.mod || go mod init orders; CGO_ENABLED=0 go test -count=1 .',
  },
  java: {
    file: 'OrdersTest.java',
    item: 'cocoa',
    script:
      'javac -cp "$JARS" OrdersTest.java; java -cp "$JARS:." org.junit.platform.console.ConsoleLauncher --select-class OrdersTest',
  },
};

/** Runs the code of the page, which sends an item that no other run has, and expects a request with `expected` in its body. */
const runPage = async (language: keyof typeof RECIPES, expected?: string): Promise<CommandResult> => {
  const { file, item, script } = RECIPES[language];
  const [, code = ''] = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(page) ?? [];
  const sent = `${item}-${(runs += 1)}-`;
  const text = code.replaceAll(`body:${item}`, `body:${expected ?? sent}`).replaceAll(`"${item}"`, `"${sent}"`);
  await writeFile(path.join(folder, file), text);
  return runCommand('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env, timeoutMs: 200_000 });
};

// Readers copy these tests. With an empty cache, Go compiles its HTTP client for a minute.
test.for(['python', 'go', 'java'] as const)('the test in %s passes, and says why it fails', LONG, async (language) => {
  const { code, stdout, stderr } = await runPage(language);
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
  const failed = await runPage(language, 'juice');
  expect(failed.code).not.toBe(0);
  expect(`${failed.stdout}${failed.stderr}`).toContain('body:juice');
});
