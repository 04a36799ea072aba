import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { openLogStore } from '@standin/logstore';
import { replaceFile } from '@standin/process/replace-file';
import { z } from 'zod';

const runSchema = z.object({
  pid: z.number().int(),
  /** The options for `openLogStore`. */
  clickhouse: z.object({ url: z.url(), username: z.string(), password: z.string() }),
  gateway: z.url(),
  /** The JSON API. Absent while `standin dev` is starting. */
  api: z.object({ url: z.url(), token: z.string().optional(), hasPages: z.boolean() }).optional(),
  /** The kind of source from which `standin dev` reads resources. */
  from: z.enum(['directory', 'cluster']).optional(),
});

/** The addresses and passwords of a running `standin dev`. Other commands find the file through its data folder. */
export type RunFile = z.infer<typeof runSchema>;

const fileIn = (dataDir: string): string => path.join(dataDir, 'running.json');

export const writeRunFile = async (dataDir: string, run: RunFile): Promise<void> => {
  await replaceFile(fileIn(dataDir), `${JSON.stringify(run)}\n`, { mode: 0o600, isDurable: false });
};

export const removeRunFile = async (dataDir: string): Promise<void> => {
  await rm(fileIn(dataDir), { force: true });
};

/** Reads the run file. It may belong to a process that was killed. */
export const readRunFile = async (dataDir: string): Promise<RunFile | undefined> => {
  try {
    return runSchema.parse(JSON.parse(await readFile(fileIn(dataDir), 'utf8')));
  } catch {
    return undefined;
  }
};

/** Finds the `standin dev` that is running for a data folder, if its ClickHouse responds. */
export const findRunning = async (dataDir: string): Promise<RunFile | undefined> => {
  const run = await readRunFile(dataDir);
  if (run === undefined) return undefined;
  const store = openLogStore({ ...run.clickhouse, database: 'standin' });
  const answers = await store.ping().then(
    () => true,
    () => false,
  );
  await store.close();
  return answers ? run : undefined;
};
