import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { LoadOptions, LoadResult } from './load.ts';

const run = promisify(execFile);
const loadFile = path.join(import.meta.dirname, 'load.ts');

export interface RunLoadOptions {
  /** The CPU core on which to run the load generator. If unset, any core. */
  readonly core?: number;
  /** Ends the load early. The result covers the requests that were sent before the signal. */
  readonly signal?: AbortSignal;
}

/** Runs the load generator in a separate process. */
export const runLoad = async (options: LoadOptions, { core, signal }: RunLoadOptions = {}): Promise<LoadResult> => {
  const command = [process.execPath, loadFile];
  const [file = '', ...args] = core === undefined ? command : ['taskset', '--cpu-list', String(core), ...command];
  const running = run(file, args, { maxBuffer: 1024 * 1024 });
  running.child.stdin?.end(JSON.stringify(options));
  const stop = (): void => void running.child.kill('SIGTERM');
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return JSON.parse((await running).stdout) as LoadResult;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
};
