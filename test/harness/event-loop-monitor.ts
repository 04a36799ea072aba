import { appendFileSync } from 'node:fs';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a process under test (`node --import`): at SIGUSR2 it writes a line to the file `TEST_EVENT_LOOP_FILE`: for how long its event loop
 * was held up at most since the last one, in milliseconds of the processor. By the clock it would count what other processes take, too.
 */
const SAMPLE_MS = 5;

const file = process.env['TEST_EVENT_LOOP_FILE'];
if (isMainThread && file !== undefined) {
  let before = process.threadCpuUsage();
  let longestMs = 0;
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1_000);
    before = process.threadCpuUsage();
  };
  setInterval(look, SAMPLE_MS).unref();
  process.on('SIGUSR2', () => {
    look();
    appendFileSync(file, `${longestMs}\n`);
    longestMs = 0;
  });
}
