import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, open, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createTempFolder } from '../harness/temp-folder.ts';
import { endpoint, forward, mock, standin } from './dev-stand.ts';

const MISSING = 'Endpoint default/orders: spec.projectRef.name: There is no Project shop in this namespace: create it.';

describe('standin validate', () => {
  let folder: string;
  const file = (name: string): string => path.join(folder, name);

  beforeAll(async () => {
    folder = await createTempFolder('validate');
    await mkdir(file('nested'));
    await writeFile(file('orders.json'), endpoint('orders', mock('{}')));
    await writeFile(file('nested/local.yaml'), endpoint('local', forward('http://localhost:3000/')));
    await writeFile(file('nested/notes.txt'), 'not a manifest');
    await writeFile(
      file('two.yaml'),
      'kind: [\n---\napiVersion: standin.dev/v1alpha1\nkind: Account\nmetadata: {name: A}\nspec: {}\n',
    );
  });

  test('prints the number of valid manifests and exits with code 0', async () => {
    const { code, stdout, stderr } = await standin(['validate', 'crds/examples/quickstart', 'crds/examples/own-key']);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '7 files: 0 errors, 0 warnings\n', stderr: '' });
  });

  test('reports an error with file, line, object and field, and exits with code 1', async () => {
    const { code, stdout } = await standin(['validate', 'crds/testdata/refused/slug-without-slash.yaml']);
    expect(stdout).toContain(
      'crds/testdata/refused/slug-without-slash.yaml:9: error: Endpoint default/x: spec.slug: must begin with /\n',
    );
    expect(code).toBe(1);
  });

  test('validates each document of a file separately', async () => {
    const { code, stdout } = await standin(['validate', file('two.yaml')]);
    const [yaml, name, summary] = stdout.split('\n');
    expect(yaml).toMatch(/two\.yaml:\d+: error: is not YAML: /);
    expect(name).toMatch(/two\.yaml:5: error: Account default\/A: metadata\.name: /);
    expect([summary, code]).toEqual(['1 file: 2 errors, 0 warnings', 1]);
  });

  test('requires referenced objects to be in the manifests, except with --partial', async () => {
    const strict = await standin(['validate', file('orders.json')]);
    const hint = 'If the missing objects are in the cluster, use --partial to report them as warnings.';
    expect(strict.stdout).toBe(`${file('orders.json')}:1: error: ${MISSING}\n1 file: 1 error, 0 warnings\n${hint}\n`);
    expect(strict.code).toBe(1);
    const partial = await standin(['validate', '--partial', file('orders.json')]);
    expect(partial.stdout).toBe(`${file('orders.json')}:1: warning: ${MISSING}\n1 file: 0 errors, 1 warning\n`);
    expect(partial.code).toBe(0);
  });

  test('reads standard input for -, together with files', async () => {
    const input = endpoint('orders', mock('{}'));
    expect(await standin(['validate', '-', 'crds/examples/quickstart'], { input })).toMatchObject({
      code: 0,
      stdout: '6 files: 0 errors, 0 warnings\n',
    });
    const alone = await standin(['validate', '-'], { input });
    expect(alone.stdout).toContain(`standard input:1: error: ${MISSING}`);
  });

  test('rejects a private upstream unless --allow-private-upstreams is given', async () => {
    const args = ['validate', '--partial', file('nested')];
    const cluster = await standin(args);
    expect(cluster.stdout).toMatch(
      /local\.yaml:1: error: Endpoint default\/local: spec\.forward\.url: localhost is a /,
    );
    expect(cluster.stdout).toContain('--allow-private-upstreams');
    expect(cluster.code).toBe(1);
    expect((await standin([...args, '--allow-private-upstreams'])).code).toBe(0);
  });

  test('reads the same files as standin dev: no node_modules, hidden files, broken links, linked folders or pipes', async () => {
    const all = file('all');
    for (const name of ['node_modules/a', '.hidden', 'folder.yaml'])
      await mkdir(path.join(all, name), { recursive: true });
    await writeFile(
      path.join(all, 'account.yaml'),
      'apiVersion: standin.dev/v1alpha1\nkind: Account\nmetadata: {name: a}\nspec: {}\n',
    );
    for (const name of ['node_modules/a/package.json', '.hidden/h.yaml', '.x.yaml'])
      await writeFile(path.join(all, name), '[');
    await symlink('nowhere', path.join(all, 'link.yaml'));
    await symlink('..', path.join(all, 'parent'));
    execFileSync('mkfifo', [path.join(all, 'pipe.yaml')]);
    expect(await standin(['validate', all])).toMatchObject({ code: 0, stdout: '1 file: 0 errors, 0 warnings\n' });
  });

  test('reports a full disk in one line', async () => {
    const full = await open('/dev/full', 'w');
    const command = ['cli/bin/standin.js', 'validate', 'crds/examples/quickstart'];
    const { status, stderr } = spawnSync(process.execPath, command, { stdio: ['ignore', full.fd, 'pipe'] });
    await full.close();
    expect([status, stderr.toString()]).toEqual([1, 'standin: the output cannot be written (ENOSPC)\n']);
  });

  test('prints one JSON object per finding with -o json', async () => {
    const { code, stdout } = await standin(['validate', '-o', 'json', file('orders.json')]);
    expect(JSON.parse(stdout)).toEqual({
      file: file('orders.json'),
      line: 1,
      object: 'Endpoint default/orders',
      path: 'spec.projectRef.name',
      message: 'There is no Project shop in this namespace: create it.',
      severity: 'error',
    });
    expect(code).toBe(1);
  });

  test.each([
    [['missing.yaml'], 'missing.yaml does not exist'],
    [['docs/internals/adr'], 'docs/internals/adr contains no manifests (files that end in .yaml, .yml or .json)'],
  ])('reports files that cannot be read in one line, with code 2: %j', async (args, line) => {
    const { code, stdout, stderr } = await standin(['validate', ...args]);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `standin: ${line}\n` });
  });

  test.each([
    [['validate'], "missing required argument 'FILE'"],
    [['validat', 'x'], "unknown command 'validat'\n(Did you mean validate?)"],
    [
      ['validate', '-o', 'xml', 'x'],
      "option '-o, --output <format>' argument 'xml' is invalid. Allowed choices are text, json.",
    ],
  ])('rejects the arguments %j', async (args, line) => {
    const { code, stderr } = await standin(args);
    expect(stderr).toBe(`error: ${line}\n(standin --help lists the commands)\n`);
    expect(code).toBe(1);
  });
});
