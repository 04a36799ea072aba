import { rm } from 'node:fs/promises';
import path from 'node:path';
import { createTempFolder } from '../../harness/temp-folder.ts';
import type { Progress } from '../go-program.ts';
import { buildImages, PAUSE_IMAGE } from '../images.ts';

export interface SavedImages extends AsyncDisposable {
  /** Image files for startNode. */
  readonly files: readonly string[];
}

/**
 * Builds Standin's images from this checkout and writes them to files. `await using` removes the files at the end of the caller's
 * block.
 */
export const saveImages = async (onProgress: Progress): Promise<SavedImages> => {
  const images = await buildImages(onProgress);
  const folder = await createTempFolder('images');
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const files: string[] = [];
  try {
    for (const name of [PAUSE_IMAGE, images.standin, images.engine]) {
      const file = path.join(folder, `${files.length}.tar`);
      await images.save(name, file);
      files.push(file);
    }
  } catch (error) {
    await remove();
    throw error;
  }
  return { files, [Symbol.asyncDispose]: remove };
};
