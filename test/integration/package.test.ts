import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import packageJson from '../../cli/package.json' with { type: 'json' };
import { packPackage } from '../../cli/package/pack-package.ts';
import { runCommand, type CommandResult } from '../cluster/run-command.ts';
import { endpoint, ROOT } from '../e2e/dev-stand.ts';
import { startClickHouse } from '../harness/clickhouse.ts';
import { eventually } from '../harness/eventually.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

/** Tests the npm package as its users install it: from the tarball, into an empty folder and home, without the checkout. */

const MIB = 1024 * 1024;
const readySchema = z.object({
  gateway: z.url(),
  dashboard: z.url(),
  accounts: z.tuple([z.object({ apiKey: z.string() })]),
  projects: z.tuple([z.object({ url: z.url() })]),
});
type Ready = z.infer<typeof readySchema>;

let folder: string;
let tarball: string;
let app: string;
let env: NodeJS.ProcessEnv;

const standin = (...args: readonly string[]): Promise<CommandResult> =>
  runCommand(path.join(app, 'node_modules/.bin/standin'), args, { cwd: app, env });

beforeAll(async () => {
  folder = await createTempFolder('package');
  app = path.join(folder, 'app');
  const home = path.join(folder, 'home');
  await Promise.all([app, home].map((name) => mkdir(name)));
  env = { HOME: home, PATH: [path.dirname(process.execPath), process.env['PATH']].join(path.delimiter) };
  tarball = await packPackage(path.join(folder, 'out'));
  // Only the download cache is shared with other runs.
  const { stdout: cache } = await runCommand('npm', ['config', 'get', 'cache', '--loglevel=error']);
  const options = ['--omit=dev', '--no-audit', '--no-fund', '--prefer-offline', `--cache=${cache.trim()}`];
  const npmEnv = { ...process.env, ...env, NODE_ENV: 'production' };
  const installed = await runCommand('npm', ['install', ...options, tarball], {
    cwd: app,
    env: npmEnv,
    timeoutMs: 240_000,
  });
  if (installed.code !== 0) throw new Error(`npm install failed: ${installed.stderr}`);
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts `standin dev` without a directory, and waits until it is ready. */
const startDev = async (...args: readonly string[]): Promise<Ready> => {
  const fixed = ['dev', '--output', 'json', '--gateway-port', '0', '--dashboard-port', '0'];
  const child: ChildProcess = spawn(path.join(app, 'node_modules/.bin/standin'), [...fixed, ...args], {
    cwd: app,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
  if (child.stdout === null) throw new Error('standin dev has no output');
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return readySchema.parse(JSON.parse(line));
};

const post = async ({ projects: [{ url }], accounts: [{ apiKey }] }: Ready, slug: string, body = '{}') => {
  const response = await fetch(`${url}${slug}`, { method: 'POST', headers: { 'x-api-key': apiKey }, body });
  return { status: response.status, body: await response.text() };
};

const entrySchema = z.object({ id: z.string(), endpoint: z.string() });
/** Returns the captured requests, once there are this many. */
const captured = async (count: number, ...args: readonly string[]) => {
  const { stdout } = await eventually('the log', () => standin('logs', '-o', 'json', ...args), {
    accept: (result) => result.stdout.split('\n').length > count,
  });
  return stdout
    .trim()
    .split('\n')
    .map((line) => entrySchema.parse(JSON.parse(line)));
};

describe('the npm package', () => {
  test('is small, and contains licences, but no source maps, tests or TypeScript', async () => {
    expect((await stat(tarball)).size).toBeLessThan(4 * MIB);
    const { stdout } = await runCommand('tar', ['-tzf', tarball]);
    const names = stdout.trim().split('\n');
    const top = [
      'LICENSE',
      'README.md',
      'THIRD-PARTY-LICENCES',
      'bin',
      'build',
      'client',
      'crds',
      'dist',
      'examples',
      'migrations',
    ];
    expect([...new Set(names.map((name) => name.split('/')[1]))].sort()).toEqual([...top, 'package.json'].sort());
    const licences = await runCommand('tar', ['-xzOf', tarball, 'package/THIRD-PARTY-LICENCES']);
    expect(licences.stdout).toMatch(/^lucide-react \d/m);
    const sources = names.filter((name) => /\.(map|tsx?)$|\.test|testing|testdata/.test(name));
    // The types of the client.
    expect(sources.filter((name) => !/^package\/client\/[\w.]+\.d\.ts$/.test(name))).toEqual([]);
  });

  test('runs standin dev with example manifests, the log and the dashboard', async () => {
    const ready = await startDev();
    expect(await post(ready, '/v1/orders', JSON.stringify({ note: 'x'.repeat(20_000) }))).toMatchObject({
      status: 201,
    });
    const [entry] = await captured(1);
    expect(entry?.endpoint).toBe('create-order');

    const page = `${ready.dashboard}/p/default/shop/traffic/${entry?.id ?? ''}`;
    expect((await standin('open', entry?.id ?? '', '--no-browser')).stdout).toBe(`${page}\n`);
    const html = await (await fetch(page)).text();
    expect(html).toContain('/v1/orders');
    const script = /(?:src|href)="(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? '';
    expect((await fetch(new URL(script, ready.dashboard))).status).toBe(200);
    // A worker writes the command, because the body is long.
    expect(await (await fetch(`${page}/copy?as=curl`)).text()).toContain('xxxx');

    const json = { template: 'CEL', body: `{"name": "\${fake('person.fullName')}"}` };
    await writeFile(path.join(app, 'standin/made-up.json'), endpoint('made-up', { action: 'JSON', json }));
    const answer = await eventually('the new endpoint', () => post(ready, '/made-up'), {
      accept: ({ status }) => status === 200,
    });
    expect(answer.body).toMatch(/^\{"name": "[A-Z]/);
  });

  test('runs without chdb on a ClickHouse server', async () => {
    await Promise.all(['chdb', '@chdb'].map((name) => rm(path.join(app, 'node_modules', name), { recursive: true })));
    const { code, stderr } = await standin('dev', '--data', 'without', '--gateway-port', '0');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^standin: chdb, the embedded ClickHouse, cannot be loaded: .*chdb.*\n$/);
    expect(stderr).toContain('--clickhouse-url');

    const clickHouse = await startClickHouse();
    onTestFinished(() => clickHouse.stop());
    const { url, username, password } = clickHouse;
    env = { ...env, STANDIN_CLICKHOUSE_PASSWORD: password };
    const server = ['--clickhouse-url', url, '--clickhouse-user', username, '--database', 'laptop'];
    const ready = await startDev('--data', 'server', ...server);
    expect(await post(ready, '/v1/orders')).toMatchObject({ status: 201 });
    expect(await captured(1, '--data', 'server')).toMatchObject([{ endpoint: 'create-order' }]);
    expect(await captured(1, ...server)).toMatchObject([{ endpoint: 'create-order' }]);
  });

  test('contains the client, which modules, CommonJS and TypeScript can load', async () => {
    const use = `
      const standin = await connect({ url: 'http://127.0.0.1:1' });
      const error = await standin.project('default', 'shop').count('method:POST').catch((reason) => reason);
      console.log(error.name, typeof matchers.toHaveReceived);`;
    await writeFile(path.join(app, 'client.mjs'), `import { connect, matchers } from 'standin/client';${use}`);
    const required = `const { connect, matchers } = require('standin/client');(async () => {${use}})();`;
    await writeFile(path.join(app, 'client.cjs'), required);
    for (const file of ['client.mjs', 'client.cjs'])
      expect(await runCommand(process.execPath, [path.join(app, file)], { cwd: app, env })).toMatchObject({
        code: 0,
        stdout: 'StandinError function\n',
      });
    const typed = `import { connect, type CapturedRequest } from 'standin/client';
      const shop = (await connect()).project('default', 'shop');
      export const found: readonly CapturedRequest[] = await shop.requests('method:POST');
      await shop.assert([{ q: 'method:POST', count: { max: 1 } }], { nothingElse: true });`;
    await writeFile(path.join(app, 'client.mts'), typed);
    const tsc = path.join(ROOT, 'node_modules/typescript/lib/tsc.js');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024'];
    expect(await runCommand(process.execPath, [tsc, ...options, 'client.mts'], { cwd: app })).toMatchObject({
      code: 0,
      stdout: '',
    });
  });

  test('is also a kubectl plugin', async () => {
    const plugin = path.join(app, 'node_modules/.bin/kubectl-standin');
    expect((await runCommand(plugin, ['--version'], { env })).stdout.trim()).toBe(packageJson.version);
    expect((await runCommand(plugin, ['--help'], { env })).stdout).toContain('Usage: kubectl standin');
  });

  test('names the required version of Node', async () => {
    const define = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.20.2'}})`;
    const bin = path.join(app, 'node_modules/standin/bin/standin.js');
    const { code, stderr } = await runCommand(process.execPath, ['--import', define, bin, 'dev'], { cwd: app, env });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `standin needs Node.js 22.19 or newer; ${process.execPath} is 20.20.2. Install a newer version from https://nodejs.org.\n`,
    });
  });
});
