/** vitest's setupFiles: in each test file's worker, before its tests. */
import { afterAll, afterEach } from 'vitest';
import { describeProcesses, killAllProcesses } from './processes.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** The number of retries of the test. */
    retryCount?: number;
  }
}

afterEach(({ task }) => {
  // For the report: see `runVitest`.
  task.meta.retryCount = task.result?.retryCount ?? 0;
  if (task.result?.state === 'fail') console.error(describeProcesses());
});

afterAll(killAllProcesses);
