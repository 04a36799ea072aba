import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { openLogStore } from '@standin/logstore';
import { z } from 'zod';

const runSchema = z.object({
  pid: z.number().int(),
  /** For `openLogStore`. */
  clickhouse: z.object({ url: z.url(), username: z.string(), password: z.string() }),
  gateway: z.url(),
  dashboard: z.url().optional(),
  /** What the dashboard asks for, with `--require-token`. */
  dashboardToken: z.string().optional(),
  /** Where its resources come from. */
  from: z.enum(['directory', 'cluster']).optional(),
});

/** Where a running `standin dev` answers, and its passwords: other commands find it by its data folder. */
export type RunFile = z.infer<typeof runSchema>;

const fileIn = (dataDir: string): string => path.join(dataDir, 'running.json');

export const writeRunFile = async (dataDir: string, run: RunFile): Promise<void> => {
  const file = fileIn(dataDir);
  // Renamed into place: what a killed run or another user left there keeps neither its owner nor its mode.
  const unfinished = `${file}.${process.pid}.tmp`;
  await rm(unfinished, { force: true });
  await writeFile(unfinished, `${JSON.stringify(run)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(unfinished, file);
};

export const removeRunFile = async (dataDir: string): Promise<void> => {
  await rm(fileIn(dataDir), { force: true });
};

/** What the file says; one that was killed leaves it behind. */
export const readRunFile = async (dataDir: string): Promise<RunFile | undefined> => {
  try {
    return runSchema.parse(JSON.parse(await readFile(fileIn(dataDir), 'utf8')));
  } catch {
    return undefined;
  }
};

/** The `standin dev` that runs on a data folder, if its ClickHouse answers. */
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
