import { glob } from 'node:fs/promises';
import path from 'node:path';
import { startDockerEngine, type DockerEngine } from '../cluster/docker-engine.ts';
import { MissingToolError } from '../cluster/go-program.ts';
import { buildImages } from '../cluster/images.ts';
import { reachableModules } from './cluster-needs.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const IMAGES_MODULE = 'test/cluster/images.ts';
const TEST_FILES = 'test/{integration,e2e,torture,node}/**/*.test.ts';

/** Test files that run Standin's images, of those that vitest's `filters` choose (none: all of them). */
export const findDockerNeeds = async (filters: readonly string[]): Promise<readonly string[]> => {
  const files: string[] = [];
  for await (const file of glob(TEST_FILES, { cwd: ROOT })) {
    if (filters.length > 0 && !filters.some((filter) => file.includes(filter))) continue;
    if ((await reachableModules(file)).has(IMAGES_MODULE)) files.push(file);
  }
  return files;
};

/** An engine that has the images, which tests then find built; or what to do where there is none. A build that fails is left to the tests. */
export const prepareImages = async (say: (line: string) => void): Promise<DockerEngine | string> => {
  let engine: DockerEngine | undefined;
  try {
    engine = await startDockerEngine(say);
    say('Building the images (the first time about three minutes, else seconds) …');
    await buildImages(say);
    return engine;
  } catch (error) {
    if (engine !== undefined && !(error instanceof MissingToolError)) return engine;
    await engine?.stop();
    if (!(error instanceof MissingToolError)) throw error;
    return error.message;
  }
};
