import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isAlive } from '../cluster/is-alive.ts';

const PREFIX = 'standin-test-';
/** Containers may share the folder for temporary files, so a process id does not identify the owner. A folder that has not been used for an hour is abandoned. */
const ABANDONED_AFTER_MS = 3_600_000;

/** Creates a folder for temporary files, named after its purpose and this process. Removes folders that killed runs have left behind. */
export const createTempFolder = async (purpose: string): Promise<string> => {
  await removeAbandoned();
  return mkdtemp(path.join(tmpdir(), `${PREFIX}${purpose}-${process.pid}-`));
};

const removeAbandoned = async (): Promise<void> => {
  for (const name of await readdir(tmpdir())) {
    const owner = name.startsWith(PREFIX) ? /-(\d+)-[^-]+$/.exec(name)?.[1] : undefined;
    if (owner === undefined || isAlive(Number(owner))) continue;
    const folder = path.join(tmpdir(), name);
    const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > ABANDONED_AFTER_MS) await rm(folder, { recursive: true, force: true });
  }
};
