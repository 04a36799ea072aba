import { appendFileSync } from 'node:fs';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

/**
 * This module is loaded into a process under test (`node --import`). On SIGUSR2, the process appends one line to the file in the
 * variable TEST_EVENT_LOOP_FILE. The line contains the longest time for which the event loop was blocked since the previous line,
 * in milliseconds of CPU time. Wall-clock time would include other processes.
 */

const SAMPLE_MS = 5;

const file = process.env['TEST_EVENT_LOOP_FILE'];
if (isMainThread && file !== undefined) {
  let before = process.threadCpuUsage();
  let longestMs = 0;
  const sample = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1_000);
    before = process.threadCpuUsage();
  };
  setInterval(sample, SAMPLE_MS).unref();
  process.on('SIGUSR2', () => {
    sample();
    appendFileSync(file, `${longestMs}\n`);
    longestMs = 0;
  });
}
