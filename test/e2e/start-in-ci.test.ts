import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../cluster/run-command.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { ROOT } from './dev-stand.ts';

let folder: string;
beforeAll(async () => (folder = await createTempFolder('ci')));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Returns the blocks of shell commands on the page. The last one needs a cluster. */
const documentedCommands = async (): Promise<readonly string[]> => {
  const page = await readFile(path.join(ROOT, 'docs/start/ci.md'), 'utf8');
  return [...page.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, block = '']) => block).slice(0, -1);
};

// A pipeline has neither a terminal nor a browser, so no one would notice if a command on the page stopped working.
test('the commands of docs/start/ci.md run tests against Standin, wait for a request and keep the log', async () => {
  const commands = await documentedCommands();
  expect(commands).toHaveLength(3);
  const [run = '', tests = '', keep = ''] = commands;
  await cp(path.join(ROOT, 'crds/examples/quickstart'), path.join(folder, 'mocks'), { recursive: true });
  await writeFile(path.join(folder, 'tests.sh'), tests);
  // Runs the CLI of this checkout.
  const cli = `exec '${process.execPath}' '${path.join(ROOT, 'cli/bin/standin.js')}' "$@"\n`;
  await writeFile(path.join(folder, 'npx'), `#!/bin/sh\nshift\n${cli}`, { mode: 0o755 });
  const { code, stdout, stderr } = await runCommand('bash', ['-euo', 'pipefail', '-c', `${run}${keep}`], {
    cwd: folder,
    env: { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` },
    timeoutMs: 100_000,
  });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/^HTTP\/1\.1 201 Created/);
  expect(stdout.trim()).toMatch(/\ntrue\ntrue$/);
  const [entry = '', ...more] = (await readFile(path.join(folder, 'requests.ndjson'), 'utf8')).trim().split('\n');
  expect(JSON.parse(entry)).toMatchObject({ method: 'POST', path: '/v1/orders' });
  expect(more).toEqual([]);
});
