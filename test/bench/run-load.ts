import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { LoadOptions, LoadResult } from './load.ts';

const run = promisify(execFile);
const loadFile = path.join(import.meta.dirname, 'load.ts');

/** Runs the load generator as a process of its own, on that core if one is given. */
export const runLoad = async (options: LoadOptions, core?: number): Promise<LoadResult> => {
  const command = [process.execPath, loadFile];
  const [file = '', ...args] = core === undefined ? command : ['taskset', '--cpu-list', String(core), ...command];
  const running = run(file, args, { maxBuffer: 1024 * 1024 });
  running.child.stdin?.end(JSON.stringify(options));
  return JSON.parse((await running).stdout) as LoadResult;
};
