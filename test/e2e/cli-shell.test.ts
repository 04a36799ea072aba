import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../cluster/run-command.ts';
import { eventually } from '../harness/eventually.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { call, readLog, ROOT, standin, startDev, type DevRun } from './dev-stand.ts';

/** Tests what connects `standin` to a shell and to a browser. */

let dev: DevRun;
let id: string;
/** A folder on the PATH, with `standin` and a program that stands in for the desktop's. */
let bin: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  bin = path.join(await createTempFolder('shell'), 'bin');
  await mkdir(bin);
  await symlink(path.join(ROOT, 'cli/bin/standin.js'), path.join(bin, 'standin'));
  const PATH = [bin, path.dirname(process.execPath), process.env['PATH']].join(path.delimiter);
  env = { ...process.env, PATH };
  dev = await startDev({ dashboard: true });
  await call(dev, '/v1/orders');
  const [entry] = await eventually('the entry', () => readLog(dev.data), { accept: ({ length }) => length === 1 });
  id = entry?.id ?? '';
});
afterAll(() => dev.process.kill());

describe('standin completion', () => {
  /** Returns what the shell offers for a command line. The script calls the `standin` on the PATH. */
  const offered = async (line: string): Promise<readonly string[]> => {
    const script = `source <(standin completion bash)
COMP_LINE=$1 COMP_POINT=\${#1}
IFS=' ' read -ra COMP_WORDS <<< "\${1//=/ = }"; [[ $1 == *[\\ =] ]] && COMP_WORDS+=('')
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _standin; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await runCommand('bash', ['-c', script, 'bash', line], { cwd: dev.data, env });
    expect(stderr).toBe('');
    return stdout.split('\n').filter((word) => word !== '');
  };

  test.each<[string, () => string, () => readonly string[]]>([
    ['commands', () => 'standin va', () => ['validate']],
    ['options', () => 'standin logs --fi', () => ['--filter']],
    ['values after an equals sign', () => 'standin explain --method=PA', () => ['PATCH']],
    ['projects', () => `standin logs --data ${dev.data} -p `, () => ['shop']],
    ['endpoints', () => `standin logs --data ${dev.data} -e c`, () => ['cancel-order', 'create-order']],
    ['ids of captured requests', () => `standin share --data ${dev.data} `, () => [id]],
    ['nothing if standin dev is not running', () => 'standin logs --data /none -p ', () => []],
  ])('completes %s in bash', async (_, line, words) => {
    expect(await offered(line())).toEqual(words());
  });
});

describe('standin open', () => {
  test.each<[string, () => string[], () => string]>([
    ['the dashboard', () => [], () => '/'],
    ['a project', () => ['shop'], () => '/p/default/shop/traffic'],
    ['an endpoint', () => ['shop/create-order'], () => '/p/default/shop/endpoints/create-order'],
    ['a request', () => [id], () => `/p/default/shop/traffic/${id}`],
  ])('prints the URL of %s', async (_, target, expected) => {
    const { stdout } = await standin(['open', ...target(), '--no-browser', '--data', dev.data]);
    expect(stdout).toBe(`${dev.ready.dashboard ?? ''}${expected()}\n`);
    expect((await fetch(stdout.trim())).status).toBe(200);
  });

  test.each([
    ['nope', 'project nope'],
    ['shop/nope', 'there is no endpoint "nope"; available endpoints: cancel-order, create-order, list-orders'],
    ['01a1fde9-a649-71f0-95e5-000000000000', 'there is no request 01a1fde9'],
    ['a/b/c', 'must be the id of a request, PROJECT or PROJECT/ENDPOINT'],
  ])('names what does not exist: %s', async (target, message) => {
    const { code, stdout, stderr } = await standin(['open', target, '--no-browser', '--data', dev.data]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('starts the browser if there is a display', async () => {
    const opened = path.join(bin, 'opened');
    for (const name of ['xdg-open', 'open']) {
      await writeFile(path.join(bin, name), `#!/bin/sh\nprintf %s "$1" > ${opened}\n`);
      await chmod(path.join(bin, name), 0o755);
    }
    const { stdout } = await standin(['open', 'shop', '--data', dev.data], { env: { ...env, DISPLAY: ':9' } });
    expect(await eventually('the browser', () => readFile(opened, 'utf8'))).toBe(stdout.trim());
  });
});
