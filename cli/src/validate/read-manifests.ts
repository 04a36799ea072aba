import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import process from 'node:process';
import type { ManifestFile } from '@standin/operator';
import { PlainError } from '../plain-error.ts';
import { refusal } from '../refusal.ts';

const isManifest = (name: string): boolean => /\.(ya?ml|json)$/i.test(name) && !path.basename(name).startsWith('.');

/** The files that the paths name; of a directory, all manifests below it in order of name. `-` is standard input. */
export const readManifests = async (paths: readonly string[]): Promise<ManifestFile[]> => {
  const files: ManifestFile[] = [];
  for (const name of paths) files.push(...(await readPath(name)));
  return files;
};

const readPath = async (name: string): Promise<ManifestFile[]> => {
  if (name === '-') return [{ name: 'standard input', text: await text(process.stdin) }];
  try {
    if (!(await stat(name)).isDirectory()) return [{ name, text: await readFile(name, 'utf8') }];
    const entries = await readdir(name, { recursive: true });
    const manifests = entries
      .filter(isManifest)
      .sort()
      .map((entry) => path.join(name, entry));
    if (manifests.length === 0)
      throw new PlainError(`${name} has no manifests: files that end in .yaml, .yml or .json`, { exitCode: 2 });
    return await Promise.all(manifests.map(async (file) => ({ name: file, text: await readFile(file, 'utf8') })));
  } catch (error) {
    if (error instanceof PlainError) throw error;
    throw new PlainError(`${name} ${refusal(error)}`, { cause: error, exitCode: 2 });
  }
};
