import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import { afterEach, describe, expect, test } from 'vitest';

const MAIN = path.join(import.meta.dirname, 'run-process.testing.ts');

let child: ChildProcess;
let output: string;
const start = (env: Readonly<Record<string, string>> = {}): void => {
  child = spawn(process.execPath, [MAIN], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (output += text.toString()));
};
afterEach(() => {
  child.kill('SIGKILL');
});

const untilSaid = (text: string): Promise<void> =>
  expect.poll(() => output, { timeout: 15_000, interval: 5 }).toContain(text);
const exit = async (): Promise<unknown> => {
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return code ?? signal;
};

describe('a process', () => {
  test('reports all invalid settings and does not start', async () => {
    start({ STANDIN_START: 'perhaps', STANDIN_STRAT: 'works' });
    expect(await exit()).toBe(1);
    expect(output.split('\n')).toEqual([
      expect.stringMatching(/^STANDIN_STRAT: unknown setting/),
      expect.stringMatching(/^STANDIN_START: /),
      '',
    ]);
  });

  test('logs JSON with its name, the level as text and the time as RFC 3339, in a form that is safe to print on a terminal', async () => {
    start();
    await untilSaid('started');
    const line = JSON.parse(output) as Readonly<Record<string, unknown>>;
    expect(line).toEqual({ level: 'info', time: line['time'], component: 'example', msg: 'started \u202e' });
    expect(line['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(output).not.toContain('\u202e');
  });

  test('logs the reason when it cannot start', async () => {
    start({ STANDIN_START: 'fails' });
    expect(await exit()).toBe(1);
    expect(JSON.parse(output)).toMatchObject({
      level: 'fatal',
      msg: 'could not start the process',
      err: { message: 'no port' },
    });
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('exits immediately on %s during startup', async (signal) => {
    start({ STANDIN_START: 'hangs' });
    await untilSaid('starting');
    child.kill(signal);
    expect(await exit()).toBe(1);
  });

  test('exits if it fails while running', async () => {
    start({ STANDIN_END: 'fails' });
    expect(await exit()).toBe(1);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('stops once on %s and exits with 0', async (signal) => {
    start();
    await untilSaid('started');
    child.kill(signal);
    expect(await exit()).toBe(0);
    expect(output.match(/stopping/g)).toHaveLength(1);
  });

  test('logs the reason when it cannot stop', async () => {
    start({ STANDIN_STOP: 'fails' });
    await untilSaid('started');
    child.kill('SIGTERM');
    expect(await exit()).toBe(1);
    expect(output).toContain('no end');
  });

  test.each([
    ['SIGTERM', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
  ] as const)('exits immediately on a second signal: %s, then %s', async (first, second) => {
    start({ STANDIN_STOP: 'hangs' });
    await untilSaid('started');
    child.kill(first);
    await untilSaid('stopping');
    child.kill(second);
    expect(await exit()).toBe(1);
  });

  test('exits if stopping takes too long', async () => {
    start({ STANDIN_STOP: 'hangs', STANDIN_STOP_MS_MAX: '50' });
    await untilSaid('started');
    child.kill('SIGTERM');
    expect(await exit()).toBe(1);
    expect(output).toContain('not stopped after 50 ms');
  });
});
