import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRunFile } from '../../cli/src/server/run-file.ts';
import { kubeconfigYaml } from '../cluster/kubeconfig.ts';
import { runCommand } from '../cluster/run-command.ts';
import { eventually } from '../harness/eventually.ts';
import { startProcess, type RunningProcess } from '../harness/processes.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import {
  call,
  endpoint,
  forward,
  mock,
  newFolders,
  printLog,
  ROOT,
  standin,
  startDev,
  type DevRun,
} from './dev-stand.ts';

const LINE = /^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} {2}\S+ +\d{3} {2}\S+ +[\d.]+ m?s {2}\S+.* {2}[\da-f-]{36}$/;

describe('standin logs and standin tail', () => {
  let dev: DevRun;
  const start = (...args: string[]): RunningProcess =>
    startProcess({ name: args[0] ?? '', main: 'cli/src/main.ts', args: [...args, '--data', dev.data] });
  /** Returns a summary of each listed entry: `POST 201 create-order`. */
  const listed = async (...args: string[]): Promise<string[]> =>
    (await printLog(dev.data, ...args)).map(({ method, status, endpoint: name }) => `${method} ${status} ${name}`);

  beforeAll(async () => {
    const folders = await newFolders();
    await writeFile(path.join(folders.manifests, 'down.json'), endpoint('down', forward('http://localhost:1/')));
    const project = { apiVersion: 'standin.dev/v1alpha1', kind: 'Project', metadata: { name: 'other' } };
    const spec = { displayName: 'Other', accountRef: { name: 'default' } };
    await writeFile(path.join(folders.manifests, 'other.json'), JSON.stringify({ ...project, spec }));
    const elsewhere = endpoint('elsewhere', { ...mock('{}'), projectRef: { name: 'other' } });
    await writeFile(path.join(folders.manifests, 'elsewhere.json'), elsewhere);
    dev = await startDev({ folders });
    await call(dev, '/v1/orders');
    await call(dev, '/v1/orders', { method: 'GET' });
    await call(dev, '/v1/orders/1001', { method: 'DELETE' });
    await call(dev, '/down');
    const url = dev.ready.projects.find(({ name }) => name === 'other')?.url ?? '';
    await call({ ...dev, url }, '/elsewhere');
    await eventually('five entries', () => printLog(dev.data), { accept: ({ length }) => length === 5 });
  });
  afterAll(() => dev.process.kill());

  test('lists all entries, newest last', async () => {
    expect(await listed()).toEqual([
      'POST 201 create-order',
      'GET 200 list-orders',
      'DELETE 204 cancel-order',
      'POST 502 down',
      'POST 200 elsewhere',
    ]);
    const { stdout } = await standin(['logs', '--data', dev.data]);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(5);
    for (const line of lines) expect(line).toMatch(LINE);
    expect(lines[3]).toMatch(/ 502 {2}\/down .* default\/down {2}upstream_failed {2}/);
  });

  test('prints curl commands that repeat a request', async () => {
    const { stdout } = await standin(['logs', '--data', dev.data, '-m', 'get', '-o', 'curl']);
    expect(stdout).toContain(`curl --http1.1 --globoff --path-as-is -X GET '${dev.url}/v1/orders' \\\n`);
    expect(stdout).toContain('-H "x-api-key: ${STANDIN_API_KEY:?');
  });

  test("without the dashboard, the API serves only this user's other commands, and no links", async () => {
    expect(await standin(['usage', '--data', dev.data])).toMatchObject({ code: 0, stderr: '' });
    const [entry] = await printLog(dev.data, '--limit', '1');
    const share = await standin(['share', entry?.id ?? '', '--data', dev.data]);
    expect(share.stderr).toContain('is running without its dashboard');
    const { api } = (await readRunFile(dev.data)) ?? {};
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${api?.url}/api/v1/projects`, { headers })).status;
    expect([await ask({}), await ask({ authorization: `Bearer ${api?.token}` })]).toEqual([401, 200]);
  });

  test.each([
    [['-m', 'get'], ['GET 200 list-orders']],
    [['-s', '5xx'], ['POST 502 down']],
    [['-e', 'down'], ['POST 502 down']],
    [['-p', 'other'], ['POST 200 elsewhere']],
    [['-n', 'default', '--limit', '1'], ['POST 200 elsewhere']],
    [['-n', 'elsewhere'], []],
    [['--since', '1s', '-e', 'down', '-m', 'GET'], []],
    [['--since', '2026-01-01T00:00:00Z', '-e', 'down'], ['POST 502 down']],
    [
      ['--filter', 'method:DELETE OR (status:5xx -endpoint:create-*)'],
      ['DELETE 204 cancel-order', 'POST 502 down'],
    ],
  ])('%j filters the entries', async (args, expected) => {
    expect(await listed(...args)).toEqual(expected);
  });

  test.each([
    [['--limit', '0'], "option '--limit <n>' argument '0' is invalid. must be a number from 1 to 10000."],
    [
      ['-m', 'TRACE'],
      "option '-m, --method <method>' argument 'TRACE' is invalid. must be GET, POST, PUT, PATCH, DELETE or HEAD.",
    ],
    [
      ['--filter', 'a status:ok'],
      "option '--filter <search>' argument 'a status:ok' is invalid. A status has a form like 404, >=500, 5xx, 200-299 or none.\n  a status:ok\n           ^^",
    ],
  ])('%j fails with an example of a valid value', async (args, line) => {
    const { code, stderr } = await standin(['logs', ...args]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: `error: ${line}\n(standin --help lists the commands)\n` });
  });

  test('logs --follow lists entries, then prints each new entry once', async () => {
    const logs = start('logs', '--follow', '--limit', '2', '-o', 'json');
    await logs.waitForEvent('the last one', ({ endpoint: name }) => name === 'elsewhere');
    for (const body of ['a', 'b', 'c']) await call(dev, '/v1/orders', { body });
    const bodies = (): string[] =>
      logs.log().map((line) => (JSON.parse(line) as { request: { body: string } }).request.body);
    await eventually('three more', bodies, { accept: ({ length }) => length >= 5 });
    expect(await logs.kill('SIGINT')).toEqual({ code: 0, signal: null });
    expect(bodies()).toEqual(['', '', 'a', 'b', 'c']);
  });

  test.each(['logs', 'logs -o json', 'tail --since 1h'])('%s | head prints no stack trace', async (args) => {
    const command = `'${process.execPath}' cli/src/main.ts ${args} --data '${dev.data}' | head -1`;
    let hasEnded = false;
    const piped = runCommand('bash', ['-c', command], { cwd: ROOT }).finally(() => (hasEnded = true));
    // A process notices a closed pipe only when it writes to the pipe.
    if (args.startsWith('tail'))
      await eventually('the end of tail', () => call(dev, '/v1/orders').then(() => hasEnded));
    const { stdout, stderr } = await piped;
    expect(stdout.split('\n')).toHaveLength(2);
    expect(stderr).toBe('');
  });

  test('an unknown endpoint is an error, before anything is followed', async () => {
    for (const command of ['logs', 'tail']) {
      const { code, stdout, stderr } = await standin([command, '--data', dev.data, '-p', 'shop', '-e', 'nope']);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toBe(
        'standin: there is no endpoint "nope"; available endpoints: cancel-order, create-order, down, list-orders\n',
      );
    }
    const none = ['logs', '--data', dev.data, '-e', 'down', '--status', '200'];
    expect(await standin(none)).toEqual({ code: 0, stdout: '', stderr: 'No requests found.\n' });
    expect(await standin([...none, '-o', 'json'])).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('an unknown project is an error, but a deleted project that still has entries is not', async () => {
    const { code, stdout, stderr } = await standin(['logs', '--data', dev.data, '-p', 'nope', '-o', 'json']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe('standin: there is no project "nope"; available projects: other, shop\n');
    const tail = await standin(['tail', '--data', dev.data, '-p', 'shop', '-n', 'nowhere']);
    expect(tail).toMatchObject({ code: 1, stdout: '' });
    expect(tail.stderr).toContain(
      'no project "shop" in namespace nowhere; available projects: default/other, default/shop',
    );

    await rm(path.join(dev.manifests, 'elsewhere.json'));
    await rm(path.join(dev.manifests, 'other.json'));
    const last = await eventually('one project', () => standin(['logs', '--data', dev.data, '-p', 'nope']), {
      accept: (result) => !result.stderr.includes('other'),
    });
    expect(last).toMatchObject({ code: 1, stderr: 'standin: there is no project "nope"; available projects: shop\n' });
    const gone = ['--data', dev.data, '-p', 'other'];
    for (const choice of [
      ['-m', 'PUT'],
      ['-e', 'elsewhere', '--status', '404'],
    ])
      expect(await standin(['logs', ...gone, ...choice])).toEqual({
        code: 0,
        stdout: '',
        stderr: 'No requests found.\n',
      });
    const tailing = start('tail', '-p', 'other', '--since', '1h');
    await tailing.waitForLine('its request', (line) => line.includes('default/elsewhere'));
    expect(await tailing.kill('SIGINT')).toEqual({ code: 0, signal: null });
  });

  test('tail prints new entries that match and ends with standin dev', async () => {
    const tail = start('tail', '-m', 'GET', '--since', '1h');
    await tail.waitForLine('the earlier one', (line) => line.includes('list-orders'));
    await call(dev, '/v1/orders');
    await call(dev, '/v1/orders', { method: 'GET' });
    await eventually('the next one', () => tail.log(), { accept: ({ length }) => length === 2 });
    for (const line of tail.log()) expect(line).toMatch(/ GET {5}200 {2}\/v1\/orders /);
    await dev.process.kill('SIGINT');
    expect(await tail.waitForLine('the end', (line) => line.startsWith('standin:'))).toBe(
      'standin: standin dev has ended',
    );
    expect(await tail.ended()).toEqual({ code: 1, signal: null });
  });

  test('while standin dev waits for its cluster, logs and tail read its ClickHouse', async () => {
    await dev.process.kill('SIGINT');
    const kubeconfig = path.join(dev.data, '../unreachable.yaml');
    await writeFile(
      kubeconfig,
      kubeconfigYaml({ server: 'https://127.0.0.1:1', certificate: Buffer.alloc(0), token: '', user: 'ann' }),
    );
    const args = ['dev', '--kubeconfig', kubeconfig, '--data', dev.data, '--gateway-port', '0', '--no-dashboard'];
    const starting = startProcess({ name: 'standin dev', main: 'cli/src/main.ts', args });
    const run = await eventually('the run file', () => readRunFile(dev.data), { timeoutMs: 30_000 });
    expect(run?.api).toBeUndefined();
    expect(await listed('--limit', '1', '-m', 'GET')).toEqual(['GET 200 list-orders']);
    const tail = start('tail', '-m', 'GET', '--since', '1h');
    await tail.waitForLine('a request', (line) => line.includes('list-orders'));
    expect(await tail.kill('SIGINT')).toEqual({ code: 0, signal: null });
    expect((await readRunFile(dev.data))?.api).toBeUndefined();
    expect(await starting.kill('SIGINT')).toEqual({ code: 0, signal: null });
  });

  test('without standin dev, logs reads the data folder and tail fails', async () => {
    expect(await listed('--limit', '1')).toEqual(['GET 200 list-orders']);
    const { stderr } = await standin(['logs', '--data', dev.data, '-p', 'nope']);
    expect(stderr).toBe('standin: there is no project "nope"; available projects: shop\n');
    expect(await standin(['logs', '--data', dev.data, '-e', 'nope'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('there is no endpoint "nope"; available endpoints: cancel-order') as unknown,
    });
    expect(await standin(['tail', '--data', dev.data])).toEqual({
      code: 1,
      stdout: '',
      stderr: `standin: standin dev is not running for ${dev.data}: start it first; standin logs lists the captured requests\n`,
    });
  });

  test('a missing log causes an error that says what to do', async () => {
    const folder = await createTempFolder('logs');
    await rm(folder, { recursive: true });
    for (const command of ['logs', 'tail']) {
      const { code, stderr } = await standin([command, '--data', folder]);
      expect(stderr).toBe(
        `standin: no log found in ${folder}: run standin dev first, or pass --data DIR (or --server, or --clickhouse-url)\n`,
      );
      expect(code).toBe(1);
    }
  });

  test('an unreachable ClickHouse causes a one-line error', async () => {
    expect(await standin(['logs', '--clickhouse-url', 'http://127.0.0.1:1'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'standin: Could not list the log: connect ECONNREFUSED 127.0.0.1:1\n',
    });
  });
});
