import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { openLogStore } from '@standin/logstore';
import { replaceFile } from '@standin/process/replace-file';
import { z } from 'zod';

const runSchema = z.object({
  pid: z.number().int(),
  /** The options for `openLogStore`. */
  clickhouse: z.object({
    url: z.url(),
    username: z.string(),
    password: z.string(),
    database: z.string().default('standin'),
    /** Whether this is a separate server, which keeps running when `standin dev` ends. */
    isServer: z.boolean().default(false),
  }),
  gateway: z.url(),
  /** The JSON API. Absent while `standin dev` is starting. */
  api: z.object({ url: z.url(), token: z.string().optional(), hasPages: z.boolean() }).optional(),
  /** The kind of source from which `standin dev` reads resources. */
  from: z.enum(['directory', 'cluster']).optional(),
});

/** The addresses and passwords of a running `standin dev`. Other commands find the file through its data folder. */
export type RunFile = z.infer<typeof runSchema>;

const fileIn = (dataDir: string): string => path.join(dataDir, 'running.json');

export const writeRunFile = async (dataDir: string, run: z.input<typeof runSchema>): Promise<void> => {
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

/** The id of this process does not count. */
export const isAlive = (pid: number): boolean => {
  // After a restart of its container, a process may have the id that an earlier one had.
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/**
 * Finds the `standin dev` that is running for a data folder, if its ClickHouse responds. A killed process leaves its run file
 * behind, and a separate ClickHouse server responds even then.
 */
export const findRunning = async (dataDir: string): Promise<RunFile | undefined> => {
  const run = await readRunFile(dataDir);
  if (run === undefined || (run.clickhouse.isServer && !isAlive(run.pid))) return undefined;
  const store = openLogStore(run.clickhouse);
  const responds = await store.ping().then(
    () => true,
    () => false,
  );
  await store.close();
  return responds ? run : undefined;
};
