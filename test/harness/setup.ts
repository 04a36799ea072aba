/** vitest's setupFiles: in each test file's worker, before its tests. */
import { afterAll, afterEach } from 'vitest';
import { describeProcesses, killAllProcesses } from './processes.ts';

afterEach(({ task }) => {
  if (task.result?.state === 'fail') console.error(describeProcesses());
});

afterAll(killAllProcesses);
