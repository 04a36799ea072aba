import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { isAlive } from '../server/run-file.ts';
import { runCommand } from './run-command.ts';

const NEVER = new AbortController().signal;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'standin-exec-'));
  onTestFinished(() => rm(folder, { recursive: true }));
});

/** Resolves with the process id that a command writes to `$FOLDER/pid`. */
const writtenPid = () =>
  vi.waitFor(
    async () => {
      const pid = Number(await readFile(path.join(folder, 'pid'), 'utf8'));
      expect(pid).toBeGreaterThan(0);
      return pid;
    },
    { timeout: 5_000 },
  );

test.each([
  ['exit 3', 3],
  ['true', 0],
  ['no-such-command-of-standin 2>&1 | cat > /dev/null; exit 127', 127],
  ['kill -KILL $$', 137],
  ['[ "$FOLDER" != "" ] && [ "$PATH" != "" ]', 0],
])('the exit code of %s is %i', async (command, code) => {
  expect(await runCommand(command, { FOLDER: folder }, NEVER)).toBe(code);
});

test('a process that the shell leaves behind ends with it', async () => {
  expect(await runCommand('sleep 60 & echo $! > "$FOLDER/pid"', { FOLDER: folder }, NEVER)).toBe(0);
  const pid = await writtenPid();
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test('a signal ends what the shell has started, after it had time to clean up', async () => {
  const stop = new AbortController();
  const child = `trap 'sleep 0.2; echo done > "$FOLDER/done"; exit' TERM; echo $$ > "$FOLDER/pid"; while :; do sleep 0.05; done`;
  const running = runCommand(
    `sh -c '${child.replaceAll("'", String.raw`'\''`)}'; true`,
    { FOLDER: folder },
    stop.signal,
  );
  const pid = await writtenPid();
  stop.abort();
  await running;
  expect(isAlive(pid)).toBe(false);
  expect(await readFile(path.join(folder, 'done'), 'utf8')).toBe('done\n');
});

test('a command that ignores SIGTERM is killed', async () => {
  const stop = new AbortController();
  const command = `trap '' TERM; echo $$ > "$FOLDER/pid"; while :; do sleep 0.05; done`;
  const running = runCommand(command, { FOLDER: folder }, stop.signal);
  await writtenPid();
  stop.abort();
  expect(await running).toBe(137);
}, 10_000);
