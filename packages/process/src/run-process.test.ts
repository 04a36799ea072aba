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
  test('reports all settings that it cannot use, and does not start', async () => {
    start({ STANDIN_START: 'perhaps', STANDIN_STRAT: 'works' });
    expect(await exit()).toBe(1);
    expect(output.split('\n')).toEqual([
      expect.stringMatching(/^STANDIN_STRAT: there is no such setting/),
      expect.stringMatching(/^STANDIN_START: /),
      '',
    ]);
  });

  test('logs JSON with its name, which a terminal only displays', async () => {
    start();
    await untilSaid('started');
    expect(JSON.parse(output)).toMatchObject({ name: 'example', msg: 'started \u202e' });
    expect(output).not.toContain('\u202e');
  });

  test('that cannot start logs why', async () => {
    start({ STANDIN_START: 'fails' });
    expect(await exit()).toBe(1);
    expect(JSON.parse(output)).toMatchObject({
      level: 60,
      msg: 'the process cannot start',
      err: { message: 'no port' },
    });
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('exits at once at %s while it starts', async (signal) => {
    start({ STANDIN_START: 'hangs' });
    await untilSaid('starting');
    child.kill(signal);
    expect(await exit()).toBe(1);
  });

  test('that fails while it runs exits', async () => {
    start({ STANDIN_END: 'fails' });
    expect(await exit()).toBe(1);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('stops once at %s, and exits with 0', async (signal) => {
    start();
    await untilSaid('started');
    child.kill(signal);
    expect(await exit()).toBe(0);
    expect(output.match(/stopping/g)).toHaveLength(1);
  });

  test('that cannot stop logs why', async () => {
    start({ STANDIN_STOP: 'fails' });
    await untilSaid('started');
    child.kill('SIGTERM');
    expect(await exit()).toBe(1);
    expect(output).toContain('no end');
  });

  test.each([
    ['SIGTERM', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
  ] as const)('exits at once at a second signal: %s, then %s', async (first, second) => {
    start({ STANDIN_STOP: 'hangs' });
    await untilSaid('started');
    child.kill(first);
    await untilSaid('stopping');
    child.kill(second);
    expect(await exit()).toBe(1);
  });

  test('whose stop takes too long exits', async () => {
    start({ STANDIN_STOP: 'hangs', STANDIN_STOP_MS_MAX: '50' });
    await untilSaid('started');
    child.kill('SIGTERM');
    expect(await exit()).toBe(1);
    expect(output).toContain('not stopped after 50 ms');
  });
});
