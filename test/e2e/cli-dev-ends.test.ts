import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { isAlive } from '../cluster/is-alive.ts';
import { runCommand, type CommandResult } from '../cluster/run-command.ts';
import { eventually } from '../harness/eventually.ts';
import { startProcess, type RunningProcess } from '../harness/processes.ts';
import { freePort } from '../harness/ports.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import {
  call,
  endpoint,
  forward,
  mock,
  newFolders,
  QUICKSTART,
  printLog,
  ROOT,
  standin,
  startDev,
} from './dev-stand.ts';

/** Runs `standin` without capabilities, because a root process that has them bypasses file permissions. */
const standinWithoutPrivileges = (args: readonly string[]): Promise<CommandResult> => {
  const command = [process.execPath, path.join(ROOT, 'cli/src/main.ts'), ...args];
  const wrapped =
    process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all', ...command] : command;
  return runCommand(wrapped[0] ?? '', wrapped.slice(1), { cwd: ROOT });
};

/** Returns the processes whose command line contains the text. */
const processesWith = async (text: string): Promise<string> => (await runCommand('pgrep', ['-fa', text])).stdout;

const startTextDev = (args: readonly string[]): RunningProcess =>
  startProcess({ name: 'standin dev', main: 'cli/src/main.ts', args });

describe('standin dev exits with code 1 and a one-line error that says what to do when', () => {
  const expectPlain = (result: CommandResult, line: string): void => {
    expect(result.stderr).toBe(`standin: ${line}\n`);
    expect(result).toMatchObject({ code: 1, stdout: '' });
  };

  test.each(['127.0.0.1', '::1'])('the port is in use on %s', async (host) => {
    const server = createServer().listen(0, host);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { data } = await newFolders();
    expectPlain(
      await standin(['dev', '--data', data, '--gateway-port', String(port)]),
      `port ${port} is in use: stop the process that uses it, or choose another port with --gateway-port PORT (npm start -- --gateway-port PORT)`,
    );
    server.close();
    expect(await processesWith(data)).toBe('');
  });

  test('another process takes the port while standin dev starts', async () => {
    const port = await freePort();
    const { manifests, data } = await newFolders();
    const dev = startTextDev(['dev', manifests, '--data', data, '--gateway-port', String(port)]);
    // It has chosen the port and does not listen yet.
    await dev.waitForLine('Starting', (line) => line.startsWith('Starting'), 30_000);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    const line = `standin: port ${port} is in use: stop the process that uses it, or choose another port`;
    await dev.waitForLine('the error', (text) => text === line, 30_000);
    expect(await dev.ended()).toEqual({ code: 1, signal: null });
    server.close();
    expect(await processesWith(data)).toBe('');
  });

  test('the manifest directory is missing', async () => {
    const missing = path.join(await createTempFolder('dev'), 'missing');
    expectPlain(await standin(['dev', missing]), `${missing} does not exist: specify a directory of manifests`);
  });

  test('the manifest directory is a file', async () => {
    expectPlain(await standin(['dev', 'README.md']), 'README.md is not a directory: specify a directory of manifests');
  });

  test('the manifest directory cannot be read', async () => {
    const locked = path.join(await createTempFolder('dev'), 'locked');
    await mkdir(locked, { mode: 0 });
    expectPlain(
      await standinWithoutPrivileges(['dev', locked]),
      `${locked} cannot be used: permission denied: specify a directory of manifests`,
    );
  });

  test('the data folder cannot be written', async () => {
    const folder = await createTempFolder('dev');
    await chmod(folder, 0o500);
    const denied = 'cannot be used: permission denied: choose another with --data';
    for (const data of [folder, path.join(folder, 'new')]) {
      expectPlain(await standinWithoutPrivileges(['dev', '--data', data]), `the data folder ${data} ${denied}`);
    }
    await chmod(folder, 0o700);
  });

  test('the data folder is a file', async () => {
    const data = path.join(ROOT, 'README.md');
    expectPlain(
      await standin(['dev', '--data', data]),
      `the data folder ${data} is not a directory: choose another with --data`,
    );
  });

  test('the manifests are in the data folder', async () => {
    const { manifests } = await newFolders();
    const { code, stderr } = await standin([
      'dev',
      manifests,
      '--data',
      path.dirname(manifests),
      '--gateway-port',
      '0',
    ]);
    expect(stderr).toMatch(/^standin: the manifests cannot be in the data folder [^\n]+; choose another directory\n$/);
    expect(code).toBe(1);
    expect(await processesWith(path.dirname(manifests))).toBe('');
  });

  test('the saved state is damaged', async () => {
    const { data } = await newFolders();
    const file = path.join(data, 'state/objects.json');
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, '{');
    const { code, stderr } = await standin(['dev', '--data', data, '--gateway-port', '0']);
    expect(stderr).toBe(`standin: cannot use ${file}; fix it, or remove it to start over\n`);
    expect(code).toBe(1);
    expect(await processesWith(data)).toBe('');
  });

  test('the kubeconfig is not valid', async () => {
    const { data } = await newFolders();
    const { code, stderr } = await standin(['dev', '--kubeconfig', 'LICENSE', '--data', data, '--gateway-port', '0']);
    expect(stderr).toMatch(/^standin: cannot use the kubeconfig LICENSE: [^\n]+\n$/);
    expect(code).toBe(1);
  });

  test.each([
    [
      ['--gateway-port', '99999'],
      "option '--gateway-port <port>' argument '99999' is invalid. must be a port: 0 to 65535.",
    ],
    [['--output', 'xml'], "option '-o, --output <format>' argument 'xml' is invalid. must be text or json."],
    [['--port', '1'], "unknown option '--port'"],
    [['a', 'b'], "too many arguments for 'dev'. Expected 1 argument but got 2: a, b."],
  ])('the arguments are %j', async (args, line) => {
    const { code, stderr } = await standin(['dev', ...args]);
    expect(stderr).toBe(`error: ${line}\n(standin --help lists the commands)\n`);
    expect(code).toBe(1);
  });
});

describe('manifests when standin dev starts', () => {
  test('a broken manifest affects only itself and is reported at each start', async () => {
    const folders = await newFolders();
    const broken = path.join(folders.manifests, 'broken.yaml');
    const invalid = path.join(folders.manifests, 'invalid.json');
    await writeFile(broken, 'kind: [Endpoint\n');
    await writeFile(invalid, endpoint('invalid', mock('{"a": }')));
    for (let start = 1; start <= 2; start += 1) {
      const dev = await startDev({ folders });
      const problem = await dev.process.waitForEvent('the problem', ({ event }) => event === 'problem');
      expect(problem).toMatchObject({ where: `${broken}:2`, message: expect.stringMatching(/^not YAML: /) as string });
      const notice = await dev.process.waitForEvent('the notice', ({ event }) => event === 'object');
      expect(notice).toMatchObject({
        object: 'Endpoint default/invalid',
        where: `${invalid}:1`,
        message: expect.stringMatching(/^spec\.json\.body: .*JSON/) as string,
      });
      expect((await call(dev, '/v1/orders')).status).toBe(201);
      expect(await dev.process.kill()).toEqual({ code: 0, signal: null });
    }
  });

  test('an empty directory is accepted, and manifests added later are served', async () => {
    const { manifests, data } = await newFolders();
    await rm(manifests, { recursive: true });
    await mkdir(manifests);
    const dev = await startDev({ folders: { manifests, data } });
    expect(dev.ready).toMatchObject({ accounts: [], projects: [] });
    for (const file of ['account.yaml', 'project.yaml', 'list-orders.yaml']) {
      await writeFile(path.join(manifests, file), await readFile(path.join(QUICKSTART, file)));
    }
    await dev.process.waitForEvent('the endpoint', ({ object }) => object === 'Endpoint default/list-orders');
    await dev.process.kill();
  });
});

describe('stopping standin dev', () => {
  test('SIGKILL leaves no process behind; the next start has the same key, URLs and log', async () => {
    const gatewayPort = await freePort();
    const dev = await startDev({ gatewayPort });
    expect((await call(dev, '/v1/orders', { body: 'before' })).status).toBe(201);
    await dev.process.waitForEvent('the request', ({ event }) => event === 'request');
    const { stdout } = await runCommand('pgrep', ['-P', String(dev.process.pid)]);
    const engine = Number(stdout.trim());
    expect(isAlive(engine)).toBe(true);

    await dev.process.kill('SIGKILL');
    await eventually('the end of the engine', () => !isAlive(engine));
    expect((await printLog(dev.data)).map(({ request }) => request.body)).toEqual(['before']);

    const next = await startDev({ folders: dev, gatewayPort });
    expect(next.ready).toEqual(dev.ready);
    expect((await call(next, '/v1/orders', { body: 'after' })).status).toBe(201);
    await eventually('both in the log', () => printLog(dev.data), {
      accept: (entries) => entries.map(({ request }) => request.body).join() === 'before,after',
    });
    await next.process.kill();
  });

  test('a start immediately after SIGKILL waits for the data folder', async () => {
    const dev = await startDev();
    await dev.process.kill('SIGKILL');
    const next = await startDev({ folders: dev });
    expect(next.apiKey).toBe(dev.apiKey);
    await next.process.kill();
  });

  test('SIGINT during startup exits with code 0 and leaves no process behind', async () => {
    for (const wanted of ['Starting', 'Ready']) {
      const { manifests, data } = await newFolders();
      const args = ['dev', manifests, '--data', data, '--gateway-port', '0'];
      const dev = startTextDev(args);
      await dev.waitForLine(wanted, (line) => line.startsWith(wanted), 30_000);
      expect(await dev.kill('SIGINT')).toEqual({ code: 0, signal: null });
      expect(await processesWith(data)).toBe('');
    }
  });

  test('a pending upstream request delays shutdown by a few seconds; a second Ctrl-C ends it immediately', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const folders = await newFolders();
    await writeFile(path.join(folders.manifests, 'slow.json'), endpoint('slow', forward(`http://127.0.0.1:${port}/`)));
    for (const signals of [1, 2]) {
      const dev = await startDev({ folders });
      const dialled = once(silent, 'connection');
      call(dev, '/slow').catch(() => undefined);
      await dialled;
      const before = performance.now();
      const ended = dev.process.kill('SIGINT');
      // A second signal that follows immediately counts as the same signal, because a terminal and a wrapper may both pass it on.
      if (signals === 2) {
        const interval = setInterval(() => dev.process.signal('SIGINT'), 200);
        expect(await ended).toEqual({ code: 130, signal: null });
        clearInterval(interval);
      } else {
        expect(await ended).toEqual({ code: 0, signal: null });
        // The log contains the entry of the interrupted request.
        expect(await printLog(dev.data, '-e', 'slow')).toHaveLength(1);
      }
      expect(performance.now() - before).toBeLessThan(signals === 2 ? 2_000 : 10_000);
    }
    silent.close();
  });

  test('standin dev | head prints no stack trace', async () => {
    const { manifests, data } = await newFolders();
    const command = `'${process.execPath}' cli/src/main.ts dev '${manifests}' --data '${data}' --gateway-port 0 --no-dashboard | head -3`;
    let hasEnded = false;
    const piped = runCommand('bash', ['-c', command], { cwd: ROOT }).finally(() => (hasEnded = true));
    // A process notices a closed pipe only when it writes to the pipe.
    let broken = 0;
    const breakAnother = async (): Promise<boolean> => {
      await writeFile(path.join(manifests, `broken-${(broken += 1)}.yaml`), '[');
      return hasEnded;
    };
    // The timeout includes the startup.
    await eventually('the end of standin dev', breakAnother, { timeoutMs: 50_000 });
    const { stderr, stdout } = await piped;
    expect(stderr).toBe('');
    expect(stdout).toContain('Ready. 3 endpoints');
    expect(await processesWith(data)).toBe('');
  });
});

test.each([
  ['the data folder', ''],
  ['the folder with the keys', 'secrets'],
  ['the folder of the gateway', 'gateway'],
])('standin dev reports that %s was removed, and stops without new keys', async (_, folder) => {
  const { process: dev, data } = await startDev();
  const removed = path.join(data, folder);
  await rm(removed, { recursive: true, force: true });
  expect(await dev.ended()).toMatchObject({ code: 1 });
  expect(dev.log().join('\n')).toContain(`the folder ${removed} was removed or replaced while standin dev was running`);
  expect(dev.log().join('\n')).not.toContain('MiB free');
  const keys = await readdir(path.join(data, 'secrets', 'default')).catch(() => []);
  expect(keys).toEqual(folder === 'gateway' ? [expect.stringContaining('api-key') as string] : []);
  expect(await processesWith(data)).toBe('');
});
