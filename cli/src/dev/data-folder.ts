import { stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PlainError } from '../plain-error.ts';
import { ENTRIES } from './check-input.ts';

const CHECK_MS = 200;

/** Returns what identifies a file or folder, also after it was replaced. Undefined if it does not exist. */
const fileIdentity = async (file: string): Promise<string | undefined> => {
  try {
    const { dev, ino } = await stat(file);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
};

/**
 * Watches the data folder, and the folders in it that exist now. Rejects with a `PlainError` as soon as one of them was removed or
 * replaced, because requests could no longer be recorded and keys would change. Resolves when `signal` aborts.
 *
 * @param name the data folder as the user typed it
 */
export const watchDataFolder = async (dataDir: string, name: string, signal: AbortSignal): Promise<void> => {
  const files = ['', ...ENTRIES.filter((entry) => path.extname(entry) === '')];
  const before = new Map<string, string>();
  for (const file of files) {
    const identity = await fileIdentity(path.join(dataDir, file));
    if (identity !== undefined) before.set(file, identity);
  }
  while (!signal.aborted) {
    for (const [file, identity] of before)
      if ((await fileIdentity(path.join(dataDir, file))) !== identity)
        throw new PlainError(
          `the folder ${path.join(name, file)} was removed or replaced while standin dev was running: start standin dev again, which creates new API keys and an empty log if they are missing`,
        );
    await delay(CHECK_MS, undefined, { signal }).catch(() => undefined);
  }
};
