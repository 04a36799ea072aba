import { open, readFile, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from './is-alive.ts';

export interface LockOptions {
  /** Called at the start of the wait and every ten seconds, with the owner's process id. */
  readonly onWait: (owner: number) => void;
  readonly timeoutMs: number;
}

const POLL_MS = 500;
const REPORT_INTERVAL_MS = 10_000;

/**
 * Waits until the lock is free and acquires it. Resolves with a function that releases the lock. The lock is a file that contains
 * the owner's process id. A dead owner holds no lock. Throws an Error after `timeoutMs`.
 */
export const acquireLock = async (file: string, { onWait, timeoutMs }: LockOptions): Promise<() => Promise<void>> => {
  for (let waited = 0; ; waited += POLL_MS) {
    try {
      const handle = await open(file, 'wx');
      await handle.writeFile(String(process.pid));
      await handle.close();
      return () => rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const owner = Number(await readFile(file, 'utf8').catch(() => ''));
    // If the file has no id after ten seconds, its owner died between creating and writing it.
    const abandoned = owner > 0 ? !isAlive(owner) : waited > REPORT_INTERVAL_MS;
    if (abandoned) await rm(file, { force: true });
    else if (waited % REPORT_INTERVAL_MS === 0) onWait(owner);
    if (waited > timeoutMs)
      throw new Error(`${file} is held by process ${owner}; remove it if that process is not part of the tests`);
    await delay(POLL_MS);
  }
};
