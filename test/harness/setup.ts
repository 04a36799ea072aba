/** vitest's setupFiles, which run in the worker of each test file before its tests. */
import { afterAll, afterEach } from 'vitest';
import { describeProcesses, killAllProcesses } from './processes.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** The number of retries of the test. */
    retryCount?: number;
  }
}

afterEach(({ task }) => {
  // `runVitest` reports the number of retries.
  task.meta.retryCount = task.result?.retryCount ?? 0;
  if (task.result?.state === 'fail') console.error(describeProcesses());
});

afterAll(killAllProcesses);
