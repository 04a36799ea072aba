import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { eventually } from './eventually.ts';
import type { RunningProcess } from './processes.ts';
import { createTempFolder } from './temp-folder.ts';

const PRELOAD = path.join(import.meta.dirname, 'event-loop-monitor.ts');

export interface EventLoopWatch {
  /** Arguments for the process to watch. */
  readonly nodeArgs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Returns the longest time for which `work` blocked the event loop of the process, in milliseconds of CPU time. */
  longestDuring(watched: RunningProcess, work: () => Promise<unknown>): Promise<number>;
}

/** Watches the event loop of a process from inside the process. */
export const watchEventLoop = async (): Promise<EventLoopWatch> => {
  const file = path.join(await createTempFolder('event-loop'), 'longest');
  await writeFile(file, '');
  const read = async (): Promise<string[]> => (await readFile(file, 'utf8')).split('\n').slice(0, -1);
  /** Returns the value that the process writes on request. */
  const ask = async ({ pid }: RunningProcess): Promise<number> => {
    const known = (await read()).length;
    process.kill(pid, 'SIGUSR2');
    const lines = await eventually('the process to report how long it was blocked', read, {
      accept: ({ length }) => length > known,
    });
    return Number(lines.at(-1));
  };
  return {
    nodeArgs: ['--import', PRELOAD],
    env: { TEST_EVENT_LOOP_FILE: file },
    longestDuring: async (watched, work) => {
      await ask(watched);
      await work();
      return ask(watched);
    },
  };
};
