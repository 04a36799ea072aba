/** vitest's setupFiles, which run in the worker of each test file before its tests. */
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, type TaskMeta } from 'vitest';
import { describeProcesses, killAllProcesses } from './processes.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** The CPU time of a test file and of the processes that it started. */
    cpuSeconds?: number;
  }
}

/** The unit of CPU times in Linux (USER_HZ). */
const TICKS_PER_SECOND = 100;

/** Returns the CPU time of this worker, which runs one test file, and of its processes that have ended. */
const cpuSeconds = (): number | undefined => {
  if (process.platform !== 'linux') return undefined;
  const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  // utime, stime, cutime and cstime of proc_pid_stat(5).
  const ticks = fields.split(' ').slice(11, 15);
  return ticks.reduce((sum, count) => sum + Number(count), 0) / TICKS_PER_SECOND;
};

/** Part of the results of the test file. */
let meta: TaskMeta | undefined;

afterEach(({ task }) => {
  meta = task.file.meta;
  if (task.result?.state === 'fail') console.error(describeProcesses());
});

// vitest runs these hooks from the last to the first, so all processes of the file have ended.
afterAll(() => {
  const measured = cpuSeconds();
  if (meta !== undefined && measured !== undefined) meta.cpuSeconds = measured;
});
afterAll(killAllProcesses);
