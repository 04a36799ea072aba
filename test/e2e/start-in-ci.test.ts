import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
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
test('the commands of docs/start/ci.md start Standin, send a request and wait for it', async () => {
  const commands = await documentedCommands();
  expect(commands).toHaveLength(3);
  await cp(path.join(ROOT, 'crds/examples/quickstart'), path.join(folder, 'mocks'), { recursive: true });
  // Runs the CLI of this checkout.
  const bin = path.join(folder, 'node_modules/.bin');
  await mkdir(bin, { recursive: true });
  const cli = `exec '${process.execPath}' '${path.join(ROOT, 'cli/bin/standin.js')}' "$@"\n`;
  for (const [file, text] of [
    [path.join(bin, 'standin'), `#!/bin/sh\n${cli}`],
    [path.join(folder, 'npx'), `#!/bin/sh\nshift\n${cli}`],
  ] as const) {
    await writeFile(file, text);
    await chmod(file, 0o755);
  }
  const script = ["trap 'kill $STANDIN; wait' EXIT", ...commands].join('\n');
  const { code, stdout, stderr } = await runCommand('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` },
    timeoutMs: 100_000,
  });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toContain('201 Created');
  expect(stdout.trim()).toMatch(/\ntrue$/);
});
