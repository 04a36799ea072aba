import { cp } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { API_GROUP, METHODS } from '@standin/contract';
import type { LogEntry } from '@standin/exchange';
import { request } from 'undici';
import { z } from 'zod';
import { openApiReader } from '../../cli/src/logs/api-reader.ts';
import { parseSearch } from '../../cli/src/logs/parse-arguments.ts';
import { findLocal } from '../../cli/src/server/connect.ts';
import { runCommand, type CommandOptions, type CommandResult } from '../cluster/run-command.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { startProcess, type RunningProcess } from '../harness/processes.ts';

export const ROOT = path.join(import.meta.dirname, '../..');
export const QUICKSTART = path.join(ROOT, 'crds/examples/quickstart');

const readySchema = z.strictObject({
  event: z.literal('ready'),
  gateway: z.url(),
  dashboard: z.url().optional(),
  dashboardToken: z.string().optional(),
  accounts: z.array(z.strictObject({ namespace: z.string(), name: z.string(), apiKey: z.string() })),
  projects: z.array(z.strictObject({ namespace: z.string(), name: z.string(), url: z.url() })),
});
type ReadyEvent = z.infer<typeof readySchema>;

export interface DevFolders {
  /** A copy of the quickstart, for the test to edit. */
  readonly manifests: string;
  /** The data folder, which `standin dev` creates. */
  readonly data: string;
}

export interface DevRun extends DevFolders {
  readonly process: RunningProcess;
  readonly ready: ReadyEvent;
  /** The URL of the quickstart's project. */
  readonly url: string;
  /** The key of the first account. */
  readonly apiKey: string;
}

export interface StartDevOptions {
  /** The folders to use, such as those of an earlier run. By default, new folders are created. */
  readonly folders?: DevFolders;
  readonly args?: readonly string[];
  readonly gatewayPort?: number;
  /** Arguments of Node itself. */
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether to start the dashboard. If its sources have changed, it is built first, which takes several seconds. */
  readonly dashboard?: boolean;
}

export const newFolders = async (): Promise<DevFolders> => {
  const folder = await createTempFolder('dev');
  const manifests = path.join(folder, 'manifests');
  await cp(QUICKSTART, manifests, { recursive: true });
  return { manifests, data: path.join(folder, 'data') };
};

/** Starts `standin dev --output json` on the given folders or on a new copy of the quickstart, and waits until it is ready. */
export const startDev = async ({
  folders,
  args = [],
  nodeArgs = [],
  env = {},
  gatewayPort = 0,
  dashboard = false,
}: StartDevOptions = {}): Promise<DevRun> => {
  const { manifests, data } = folders ?? (await newFolders());
  const fixed = [
    '--data',
    data,
    '--gateway-port',
    String(gatewayPort),
    '--output',
    'json',
    ...(dashboard ? ['--dashboard-port', '0'] : ['--no-dashboard']),
  ];
  const process = startProcess({
    name: 'standin dev',
    main: 'cli/src/main.ts',
    args: ['dev', manifests, ...fixed, ...args],
    nodeArgs,
    env,
  });
  const ready = await waitForReady(process);
  return {
    manifests,
    data,
    process,
    ready,
    url: ready.projects.find(({ name }) => name === 'shop')?.url ?? '',
    apiKey: ready.accounts[0]?.apiKey ?? '',
  };
};

/**
 * The maximum time until `standin dev` is ready. If the dashboard has not been built yet, the build takes a minute on a busy
 * machine.
 */
const READY_MS_MAX = 90_000;

const waitForReady = async (process: RunningProcess): Promise<ReadyEvent> =>
  readySchema.parse(await process.waitForEvent('ready', ({ event }) => event === 'ready', READY_MS_MAX));

/** Runs `standin` with these arguments and waits until it exits. */
export const standin = (args: readonly string[], options?: CommandOptions): Promise<CommandResult> =>
  runCommand(process.execPath, [path.join(ROOT, 'cli/src/main.ts'), ...args], { cwd: ROOT, ...options });

/** Returns the entries that `standin logs -o json` prints. */
export const printLog = async (data: string, ...args: string[]): Promise<LogEntry[]> => {
  const { code, stdout, stderr } = await standin(['logs', '--data', data, '-o', 'json', ...args]);
  if (code !== 0) throw new Error(`standin logs ended with ${code}: ${stderr}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogEntry);
};

/** The flags of `standin logs` that `readLog` has. */
const LOG_FLAGS = {
  project: { type: 'string', short: 'p' },
  endpoint: { type: 'string', short: 'e' },
  method: { type: 'string' },
  filter: { type: 'string' },
  limit: { type: 'string', default: '100' },
} as const;

/**
 * Returns the same entries as `printLog`, from a `standin dev` that is running. Reads them as the command does, but in this process,
 * because a process takes most of a second of CPU time.
 */
export const readLog = async (data: string, ...args: string[]): Promise<LogEntry[]> => {
  const { project, endpoint, method, filter, limit } = parseArgs({ args, options: LOG_FLAGS }).values;
  const api = await findLocal(data);
  if (api === undefined) throw new Error(`standin dev is not running for ${data}`);
  const reader = await openApiReader(api, {
    project,
    endpoint,
    method: METHODS.find((known) => known === method),
    filter: filter === undefined ? undefined : parseSearch(filter),
  });
  try {
    const newest = await reader.newest(Number(limit));
    const entries: LogEntry[] = [];
    for await (const entry of newest.entries(Number(limit))) entries.push(entry);
    return entries;
  } finally {
    await reader.close();
  }
};

export interface CallResult {
  readonly status: number;
  readonly body: string;
  readonly rejected: string | undefined;
}

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: string;
}

export const call = async (
  { url, apiKey }: Pick<DevRun, 'url' | 'apiKey'>,
  slug: string,
  { method = 'POST', body = '' }: CallOptions = {},
): Promise<CallResult> => {
  const response = await request(`${url}${slug}`, {
    method,
    headers: { 'x-api-key': apiKey },
    ...(method === 'GET' || method === 'DELETE' ? {} : { body }),
  });
  const rejected = response.headers['standin-rejected'];
  return {
    status: response.statusCode,
    body: await response.body.text(),
    rejected: typeof rejected === 'string' ? rejected : undefined,
  };
};

/** Returns an Endpoint of the quickstart's project as JSON, which is valid YAML. */
export const endpoint = (name: string, spec: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({
    apiVersion: `${API_GROUP}/v1alpha1`,
    kind: 'Endpoint',
    metadata: { name },
    spec: { projectRef: { name: 'shop' }, displayName: name, slug: `/${name}`, method: 'POST', ...spec },
  });

export const mock = (body: string): Readonly<Record<string, unknown>> => ({ action: 'JSON', json: { body } });
export const forward = (url: string): Readonly<Record<string, unknown>> => ({ action: 'Forward', forward: { url } });
