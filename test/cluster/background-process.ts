import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

export interface BackgroundCommand {
  /** The name of the program's log without `.log`, such as `kubelet`. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The program's working directory, which also contains the log. */
  readonly directory: string;
}

const STOP_TIMEOUT_MS = 15_000;
const LOG_TAIL_CHARS = 3_000;

/** Starts a program with its output in `DIRECTORY/NAME.log`. Does not wait until the program is ready. */
export const startInBackground = ({ name, program, args, directory }: BackgroundCommand): ChildProcess => {
  const log = openSync(path.join(directory, `${name}.log`), 'a');
  try {
    // The Go programs of this repository end when their stdin, which is a pipe, closes, so a killed test run leaves none of them
    // behind. The program has its own process group. Ctrl-C in a terminal therefore reaches only this process, which then stops the
    // program.
    const child = spawn(program, args, { cwd: directory, stdio: ['pipe', log, log], detached: true });
    // A program that fails to start has no pid, which hasEnded() checks.
    return child.on('error', () => undefined);
  } finally {
    closeSync(log);
  }
};

/** Sends the signal and waits until the program has ended. Kills a program that has not ended after 15 s. */
export const stopInBackground = async (child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> => {
  if (child === undefined || hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
};

export const hasEnded = (child: ChildProcess): boolean =>
  child.exitCode !== null || child.signalCode !== null || child.pid === undefined;

/** Returns the end of the program's log, for an error message. */
export const readLogTail = async ({
  name,
  directory,
}: Pick<BackgroundCommand, 'name' | 'directory'>): Promise<string> => {
  const log = await readFile(path.join(directory, `${name}.log`), 'utf8').catch(() => '');
  return log.slice(-LOG_TAIL_CHARS);
};
