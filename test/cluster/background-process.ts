import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

export interface BackgroundCommand {
  /** Of its log: `kubelet.log`. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Where its log is, and where it runs. */
  readonly directory: string;
}

const STOP_TIMEOUT_MS = 15_000;
const LOG_TAIL_CHARS = 3_000;

/** Starts a program of the cluster, its output going to `DIRECTORY/NAME.log`. Does not wait for anything. */
export const startInBackground = ({ name, program, args, directory }: BackgroundCommand): ChildProcess => {
  const log = openSync(path.join(directory, `${name}.log`), 'a');
  try {
    // Ours end when this pipe does, so a killed test run leaves nothing behind. Its own process group: Ctrl-C in a terminal must
    // reach us first, not everybody at once.
    const child = spawn(program, args, { cwd: directory, stdio: ['pipe', log, log], detached: true });
    // A program that cannot be started has no pid, which hasEnded() sees.
    return child.on('error', () => undefined);
  } finally {
    closeSync(log);
  }
};

/** Sends the signal and waits for the end. One that does not end on its own after 15 s is killed. */
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

/** The end of what it wrote, for the message of a failure. */
export const logTailOf = async ({
  name,
  directory,
}: Pick<BackgroundCommand, 'name' | 'directory'>): Promise<string> => {
  const log = await readFile(path.join(directory, `${name}.log`), 'utf8').catch(() => '');
  return log.slice(-LOG_TAIL_CHARS);
};
