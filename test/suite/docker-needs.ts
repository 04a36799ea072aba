import { startDockerEngine, type DockerEngine } from '../cluster/docker-engine.ts';
import { MissingToolError } from '../cluster/go-program.ts';
import { buildImages } from '../cluster/images.ts';
import { findFilesThatNeed } from './cluster-needs.ts';

const IMAGES_MODULE = 'test/cluster/images.ts';

/** The test files that run Standin's images, among those that vitest's `filters` select (none: all). */
export const findDockerNeeds = (filters: readonly string[]): Promise<readonly string[]> =>
  findFilesThatNeed(IMAGES_MODULE, filters);

/** An engine with the images already built, or instructions if there is none. The tests report a failed build. */
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
