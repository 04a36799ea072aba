import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

const runSchema = z.object({ clickhouse: z.url(), gateway: z.url() });

/** Where a running `standin dev` answers, so that other commands find it by its data folder. */
export type RunFile = z.infer<typeof runSchema>;

const fileIn = (dataDir: string): string => path.join(dataDir, 'running.json');

export const writeRunFile = async (dataDir: string, run: RunFile): Promise<void> => {
  await writeFile(fileIn(dataDir), `${JSON.stringify(run)}\n`);
};

export const removeRunFile = async (dataDir: string): Promise<void> => {
  await rm(fileIn(dataDir), { force: true });
};

export const readRunFile = async (dataDir: string): Promise<RunFile | undefined> => {
  try {
    return runSchema.parse(JSON.parse(await readFile(fileIn(dataDir), 'utf8')));
  } catch {
    return undefined;
  }
};
