import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '@standin/contract';
import { PlainError } from '../plain-error.ts';
import { environmentWith } from '../settings.ts';

/** How long the processes of a command may take to end. */
const END_MS_MAX = 5_000;
const POLL_MS = 20;

/**
 * Runs a shell command with its input and output. Resolves with its exit code when all processes that it has started have ended. Those
 * that remain when the shell has ended, or when `signal` aborts, get SIGTERM, and SIGKILL five seconds later. Rejects with a
 * `PlainError` if the command cannot be started.
 */
export const runCommand = async (
  command: string,
  variables: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<number> => {
  // As a process group of its own, because signals to the shell do not reach what it has started.
  const child = spawn(command, { shell: true, stdio: 'inherit', env: environmentWith(variables), detached: true });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const { pid } = child;
  let ending: Promise<void> | undefined;
  const end = (): void => {
    if (pid !== undefined) ending ??= endGroup(pid);
  };
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  try {
    const [code, killedBy] = await ended;
    return code ?? 128 + (killedBy === null ? 0 : constants.signals[killedBy]);
  } catch (error) {
    throw new PlainError(`--exec: cannot start the command: ${errorMessage(error)}`, { cause: error });
  } finally {
    signal.removeEventListener('abort', end);
    end();
    await ending;
  }
};

const endGroup = async (pid: number): Promise<void> => {
  let isLeft = send(pid, 'SIGTERM');
  for (const until = performance.now() + END_MS_MAX; isLeft && performance.now() < until; isLeft = send(pid, 0))
    await delay(POLL_MS);
  if (isLeft) send(pid, 'SIGKILL');
};

/** Sends a signal to a process group. Returns whether it has processes. */
const send = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
};
