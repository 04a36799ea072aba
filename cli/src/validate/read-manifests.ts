import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import process from 'node:process';
import type { ManifestFile } from '@standin/operator';
import { PlainError, refusal } from '../plain-error.ts';

/** The files that the paths name. For a directory, the files that `standin dev` reads, sorted by name. `-` is standard input. */
export const readManifests = async (paths: readonly string[]): Promise<ManifestFile[]> => {
  const files: ManifestFile[] = [];
  for (const name of paths) files.push(...(await readPath(name)));
  return files;
};

const readPath = async (name: string): Promise<ManifestFile[]> => {
  if (name === '-') return [{ name: 'standard input', text: await text(process.stdin) }];
  try {
    if (!(await stat(name)).isDirectory()) return [{ name, text: await readFile(name, 'utf8') }];
    return await readFolder(name);
  } catch (error) {
    if (error instanceof PlainError) throw error;
    const reason = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new PlainError(`${name} ${refusal(reason)}`, { cause: error, exitCode: 2 });
  }
};

const readFolder = async (name: string): Promise<ManifestFile[]> => {
  // Imported here, since it would slow the start of every command.
  const { ManifestFolder } = await import('@standin/operator');
  const folder = new ManifestFolder(name, undefined);
  const { files, tooMany } = await folder.scan();
  if (tooMany) throw new PlainError(`${name} has more manifests than standin dev reads`, { exitCode: 2 });
  if (files.length === 0)
    throw new PlainError(`${name} has no manifests: files that end in .yaml, .yml or .json`, { exitCode: 2 });
  return Promise.all(files.map(async ({ file }) => ({ name: path.join(name, file), text: await folder.read(file) })));
};
