import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { isAlive } from '../cluster/is-alive.ts';
import { runCommand } from '../cluster/run-command.ts';
import { eventually } from '../harness/eventually.ts';
import { newFolders, printLog, ROOT } from './dev-stand.ts';

/**
 * The entry point of `npx standin`. Entry points run on the machine's own Node. If it is too old for the code,
 * cli/bin/run-main.js starts Node 24 as a child.
 */
const BIN = path.join(ROOT, 'cli/bin/standin.js');

/** The PATH with the machine's own Node, but without the Node in node_modules, which npm scripts and test runs put first. */
const systemPath = (process.env['PATH'] ?? '')
  .split(path.delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(path.delimiter);
/**
 * The environment without the settings of the npm that runs the tests, and without the user's npm settings, because npm may print
 * warnings about them.
 */
const systemEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
  PATH: systemPath,
  NPM_CONFIG_USERCONFIG: '/dev/null',
};

interface Wrapped {
  readonly wrapper: ChildProcess;
  readonly data: string;
  /** Resolves with the complete standard output when this stream ends. */
  readonly output: Promise<string>;
  /** The process that runs `standin dev`, which is the wrapper itself if its Node is recent enough. */
  readonly pid: number;
  readonly curl: string;
}

const started: ChildProcess[] = [];
afterEach(() => {
  for (const { pid, exitCode, signalCode } of started.splice(0)) {
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
  }
});

/** Starts `standin dev` in its own process group, so that a test can signal the whole group as Ctrl-C does. */
const startWrapped = async (command: string, args: readonly string[]): Promise<Wrapped> => {
  const { manifests, data } = await newFolders();
  const wrapper = spawn(command, [...args, manifests, '--data', data, '--gateway-port', '0'], {
    cwd: ROOT,
    env: systemEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  started.push(wrapper);
  let printed = '';
  wrapper.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
  const output = text(wrapper.stdout);
  const curl = await eventually('the curl', () => /^ {2}(curl .*)$/m.exec(printed)?.[1], { timeoutMs: 30_000 });
  const { stdout } = await runCommand('pgrep', ['-f', `main.ts dev .*--data ${data}`]);
  const pid = Number(stdout.trim().split('\n')[0]) || (wrapper.pid ?? 0);
  return { wrapper, data, output, pid, curl: curl ?? '' };
};

const nothingRuns = async (data: string): Promise<void> => {
  await eventually('the end of all processes', () => runCommand('pgrep', ['-fa', data]), {
    accept: ({ stdout }) => stdout === '',
    timeoutMs: 20_000,
  });
};

describe('with the system Node', () => {
  test('npx standin runs in the checkout', async () => {
    const { code, stdout, stderr } = await runCommand('npx', ['standin', 'validate', 'crds/examples/quickstart'], {
      cwd: ROOT,
      env: systemEnv,
    });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '5 files: 0 errors, 0 warnings\n', stderr: '' });
  });

  test('the exit code is the exit code of the command', async () => {
    const env = systemEnv;
    expect((await runCommand('node', [BIN, 'validate', 'missing.yaml'], { cwd: ROOT, env })).code).toBe(2);
    expect((await runCommand('node', [BIN, 'frob'], { cwd: ROOT, env })).code).toBe(1);
  });

  test('standard input reaches the command', async () => {
    const options = { cwd: ROOT, env: systemEnv, input: 'kind: [\n' };
    expect((await runCommand('node', [BIN, 'validate', '-'], options)).stdout).toContain('standard input:2: error:');
  });

  test('Ctrl-C signals the whole process group, ends it with code 0 and loses no entries', async () => {
    const { wrapper, data, curl } = await startWrapped('node', [BIN, 'dev']);
    await runCommand('bash', ['-c', curl]);
    const ended = once(wrapper, 'exit');
    process.kill(-(wrapper.pid ?? 0), 'SIGINT');
    expect(await ended).toEqual([0, null]);
    await nothingRuns(data);
    expect(await printLog(data)).toHaveLength(1);
  });

  test('SIGTERM to the wrapper alone ends all processes with code 0', async () => {
    const { wrapper, data } = await startWrapped('node', [BIN, 'dev']);
    const ended = once(wrapper, 'exit');
    wrapper.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    await nothingRuns(data);
  });

  test('SIGKILL to the wrapper ends all processes', async () => {
    const { wrapper, data, pid } = await startWrapped('node', [BIN, 'dev']);
    expect(isAlive(pid)).toBe(true);
    wrapper.kill('SIGKILL');
    await nothingRuns(data);
  });

  test('npm start needs no other step and prints no warnings', async () => {
    const { wrapper, data, output, curl } = await startWrapped('npm', ['start', '--']);
    expect((await runCommand('bash', ['-c', curl])).stdout).toContain('201 Created');
    const ended = once(wrapper, 'exit');
    process.kill(-(wrapper.pid ?? 0), 'SIGINT');
    await ended;
    await nothingRuns(data);
    const printed = await output;
    expect(printed).toMatch(/^\n> \S+ start\n> exec node cli\/bin\/start\.js [^\n]+\n\nStarting ClickHouse/);
    expect(printed).not.toMatch(/warn|deprecat|npm error/i);
    expect(existsSync(path.join(data, 'running.json'))).toBe(false);
  });
});
