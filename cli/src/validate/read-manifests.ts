import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { buffer } from 'node:stream/consumers';
import type { ManifestFile } from '@standin/operator';
import { fileErrorText, PlainError } from '../plain-error.ts';

/**
 * Reads the files at the paths. For a directory, reads the files that `standin dev` reads, sorted by name. `-` is standard input.
 * Rejects with a `PlainError` if there is nothing to read.
 */
export const readManifests = async (paths: readonly string[]): Promise<ManifestFile[]> => {
  const files: ManifestFile[] = [];
  for (const name of paths) files.push(...(await readPath(name)));
  return files;
};

const readPath = async (name: string): Promise<ManifestFile[]> => {
  if (name === '-') return [await toManifestFile('standard input', () => buffer(process.stdin))];
  try {
    if (!(await stat(name)).isDirectory()) return [await toManifestFile(name, () => readFile(name))];
    return await readFolder(name);
  } catch (error) {
    if (error instanceof PlainError) throw error;
    const reason = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new PlainError(`${name} ${fileErrorText(reason)}`, { cause: error, exitCode: 2 });
  }
};

const readFolder = async (name: string): Promise<ManifestFile[]> => {
  // Loaded on demand, because a static import would slow down every command.
  const { MANIFEST_FILES_MAX, ManifestFolder } = await import('@standin/operator');
  const folder = new ManifestFolder(name, undefined);
  const { files, tooMany } = await folder.scan();
  if (tooMany) {
    const max = MANIFEST_FILES_MAX.toLocaleString('en');
    throw new PlainError(`${name} contains too many manifests: standin dev reads at most ${max} files`, {
      exitCode: 2,
    });
  }
  if (files.length === 0)
    throw new PlainError(`${name} contains no manifests (files that end in .yaml, .yml or .json)`, { exitCode: 2 });
  return Promise.all(files.map(({ file }) => toManifestFile(path.join(name, file), () => folder.read(file))));
};

const toManifestFile = async (name: string, read: () => Promise<Buffer | string>): Promise<ManifestFile> => {
  const { decodeManifest, ManifestEncodingError } = await import('@standin/crds');
  try {
    const content = await read();
    return { name, text: typeof content === 'string' ? content : decodeManifest(content) };
  } catch (error) {
    if (!(error instanceof ManifestEncodingError)) throw error;
    return { name, text: '', problem: { line: error.line, message: error.message } };
  }
};
