import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { cacheFolder } from '../cluster/go-program.ts';
import { ROOT } from './source-files.ts';

/** The hashes of everything on which results depend that are known to be good. */
export interface PassedInputs {
  readonly has: (hash: string) => boolean;
  /** Replaces the hashes. */
  readonly store: (hashes: readonly string[]) => Promise<void>;
}

/** Returns where a check keeps what passed: in this checkout, and for the next fresh clone on this machine. */
export const checkCaches = (check: string): { readonly own: string; readonly next: string } => ({
  own: path.join(ROOT, 'node_modules/.cache', `standin-${check}`),
  next: path.join(cacheFolder(), 'checks', check),
});

/** Loads the hashes that the last run of a check stored. In a fresh clone, this is the last run in any checkout on this machine. */
export const loadPassedInputs = async (check: string): Promise<PassedInputs> => {
  const { own, next } = checkCaches(check);
  const read = (file: string): Promise<string> => readFile(file, 'utf8');
  const passed = new Set((await read(own).catch(() => read(next).catch(() => ''))).split('\n'));
  return {
    has: (hash) => passed.has(hash),
    store: async (hashes) => {
      for (const file of [own, next]) {
        await mkdir(path.dirname(file), { recursive: true });
        await writeFile(file, hashes.join('\n'));
      }
    },
  };
};

export const hashInputs = (parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}\0`).update(part);
  return hash.digest('hex');
};
