import { startDockerEngine, type DockerEngine } from '../cluster/docker-engine.ts';
import { MissingToolError } from '../cluster/go-program.ts';
import { buildImages } from '../cluster/images.ts';
import { findFilesThatNeed } from './cluster-needs.ts';

const IMAGES_MODULE = 'test/cluster/images.ts';

/**
 * Returns the test files that run Standin's images, among those that vitest's `filters` select. Without filters, all files are
 * selected.
 */
export const findDockerNeeds = (filters: readonly string[]): Promise<readonly string[]> =>
  findFilesThatNeed(IMAGES_MODULE, filters);

/**
 * Starts the Docker engine and builds the images. Resolves with the engine, even if a build fails, because the tests then report
 * the failure. Resolves with instructions if this machine cannot run the engine or lacks a base image.
 */
export const prepareImages = async (report: (line: string) => void): Promise<DockerEngine | string> => {
  let engine: DockerEngine | undefined;
  try {
    engine = await startDockerEngine(report);
    report('Building the images (about three minutes the first time, then seconds) …');
    await buildImages(report);
    return engine;
  } catch (error) {
    if (engine !== undefined && !(error instanceof MissingToolError)) return engine;
    await engine?.stop();
    if (!(error instanceof MissingToolError)) throw error;
    return error.message;
  }
};
