import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ROOT } from './source-files.ts';

/** The hashes of everything on which results depend that are known to be good. */
export interface PassedInputs {
  readonly has: (hash: string) => boolean;
  /** Replaces the hashes. */
  readonly store: (hashes: readonly string[]) => Promise<void>;
}

/** Loads the hashes that the last run of a check stored. */
export const loadPassedInputs = async (check: string): Promise<PassedInputs> => {
  const file = path.join(ROOT, 'node_modules/.cache', `standin-${check}`);
  const passed = new Set((await readFile(file, 'utf8').catch(() => '')).split('\n'));
  return {
    has: (hash) => passed.has(hash),
    store: async (hashes) => {
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, hashes.join('\n'));
    },
  };
};

export const hashInputs = (parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}\0`).update(part);
  return hash.digest('hex');
};
