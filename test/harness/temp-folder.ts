import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isAlive } from '../cluster/is-alive.ts';

const PREFIX = 'standin-test-';
/**
 * The time since the last change after which the folder of an ended process is removed. The process id alone does not identify the
 * owner, because containers may share the folder for temporary files.
 */
const ABANDONED_AFTER_MS = 3_600_000;

/** Creates a folder for temporary files, named after its purpose and this process. Removes abandoned folders of killed runs. */
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
