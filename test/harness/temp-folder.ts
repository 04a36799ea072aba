import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isAlive } from '../cluster/is-alive.ts';

const PREFIX = 'standin-test-';
/** Containers may share this folder for temporary files, and process ids mean nothing across containers. An hour without use does. */
const ABANDONED_AFTER_MS = 3_600_000;

/** A new folder for temporary files, named after its purpose and this process. Removes the folders of earlier runs that were killed. */
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
