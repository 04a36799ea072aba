import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface FoundProcess {
  readonly pid: number;
  readonly parent: number;
  readonly args: readonly string[];
}

const POLL_MS = 50;
/** The time in which processes must end after SIGKILL. A process may survive SIGKILL while it waits for a disk. */
const KILL_TIMEOUT_MS = 20_000;

/** Returns every running process on this machine. */
export const listProcesses = async (): Promise<readonly FoundProcess[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  // Some processes end during the search.
  const found = await Promise.all(pids.map((pid) => readProcess(pid).catch(() => undefined)));
  return found.filter((one) => one !== undefined);
};

const readProcess = async (pid: number): Promise<FoundProcess | undefined> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name is in parentheses and may itself contain parentheses.
  const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return undefined;
  const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(0, -1);
  return { pid, parent: Number(parent), args };
};

/**
 * Returns the processes of a node, which are programs with a matching name whose arguments contain a file in the folder. Other
 * programs, such as one that displays a log, do not count.
 */
export const ownProcesses = (
  processes: readonly FoundProcess[],
  folder: string,
  programs: RegExp,
): readonly FoundProcess[] =>
  processes.filter(({ args: [program = '', ...args] }) => {
    const names = args.some((arg) => arg === folder || arg.includes(`${folder}/`));
    return names && programs.test(path.basename(program));
  });

/** Kills the processes and waits until they have ended. Throws if one is still running after 20 s. */
export const killProcesses = async (pids: readonly number[]): Promise<void> => {
  for (const pid of pids) kill(pid);
  const deadline = performance.now() + KILL_TIMEOUT_MS;
  for (let left = await stillRunning(pids); left.length > 0; left = await stillRunning(left)) {
    if (performance.now() > deadline) throw new Error(`processes ${left.join(', ')} cannot be killed`);
    await delay(POLL_MS);
  }
};

const stillRunning = async (pids: readonly number[]): Promise<readonly number[]> => {
  const running = new Set((await listProcesses()).map(({ pid }) => pid));
  return pids.filter((pid) => running.has(pid));
};

const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};
