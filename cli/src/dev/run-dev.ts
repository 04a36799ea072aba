import { randomBytes } from 'node:crypto';
import path from 'node:path';
import process from 'node:process';
import { urlTarget } from '@standin/egress';
import { openLogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import type { EngineAddress } from '@standin/engine';
import { openEngine } from '../open-engine.ts';
import { isPortTaken, PlainError } from '../plain-error.ts';
import { awaitStop } from '../shutdown.ts';
import { stderr, stdout } from '../terminal.ts';
import { checkReadable, copyQuickstart, prepareDataDir, readUpstreamCa } from './check-input.ts';
import { choosePort } from './choose-port.ts';
import { watchDataFolder } from './data-folder.ts';
import { devLogger } from './dev-logger.ts';
import { boundRefused, holdUntilReady, jsonOutput, type DevOutput, type Ready } from './dev-output.ts';
import { findRunning, removeRunFile, writeRunFile } from '../server/run-file.ts';
import { runCommand } from './run-command.ts';
import { chooseDashboardPort, startDashboard } from './start-dashboard.ts';
import { startStandin, type ResourcesFrom } from './start-standin.ts';
import { textOutput } from './text-output.ts';

export interface DevOptions {
  readonly from: ResourcesFrom;
  /** Whether to create the directory with example manifests if it does not exist. */
  readonly isOwn: boolean;
  /** With 0, any free port is used. */
  readonly gatewayPort: number;
  readonly dashboard: boolean;
  /** If undefined, port 3000 or any free port is used. */
  readonly dashboardPort?: number | undefined;
  readonly data: string;
  readonly output: 'text' | 'json';
  readonly denyPrivateUpstreams: boolean;
  /** A file with certificates in PEM. */
  readonly upstreamCa?: string | undefined;
  /** Applies to the dashboard's pages and API. */
  readonly requireToken: boolean;
  readonly apiKeyHeader: 'exact' | 'any-case';
  readonly verbose: boolean;
  /** A shell command to run, after which everything stops. Standard output is left to it. */
  readonly exec?: string | undefined;
  readonly colour: boolean;
  /** A ClickHouse server for the log. If undefined, the log is in the data folder. */
  readonly clickhouseUrl?: string | undefined;
  readonly clickhouseUser: string;
  readonly clickhousePassword: string;
  readonly database: string;
}

/** Enough bytes that a token cannot be guessed. */
const TOKEN_BYTES = 32;

/** Runs `standin dev` on this machine until a signal arrives, or until `exec` has ended. Rejects with a `PlainError` if it cannot start. */
export const runDev = async (options: DevOptions): Promise<void> => {
  const stop = awaitStop();
  // Stops if nothing reads the output any longer, as with `standin dev | head`.
  stdout.onError(() => stop.request());
  const { colour, data, exec } = options;
  const out = exec === undefined ? stdout : stderr;
  const all = options.output === 'json' ? jsonOutput(out) : textOutput(out, { colour: colour && out.isTerminal, data });
  // What people read who send requests by hand would hide the output of the command. It also contains API keys, which the logs of CI
  // systems must not show.
  const plain = exec === undefined ? all : { ...all, ready: () => undefined, request: () => undefined };
  const output = holdUntilReady(boundRefused(plain));
  try {
    await run(options, output, stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    stop.done();
  }
};

const run = async (options: DevOptions, output: DevOutput, signal: AbortSignal): Promise<void> => {
  // The operator's warnings report a cluster that is temporarily unavailable. Problems in a directory are reported as notices.
  const warningProcesses = options.from.kind === 'cluster' ? ['gateway', 'operator'] : ['gateway'];
  const logger = devLogger({ output, verbose: options.verbose, warningProcesses });
  const { from } = options;
  const created = options.isOwn && from.kind === 'directory' && (await copyQuickstart(from.dir)) ? from.dir : undefined;
  await checkReadable(from);
  const upstreamCa = options.upstreamCa === undefined ? undefined : await readUpstreamCa(options.upstreamCa);
  const dataDir = await prepareDataDir(options.data);
  await refuseWhereOneRuns(dataDir, options.data);
  const gatewayPort = await choosePort(options.gatewayPort);
  const dashboardPort = options.dashboard ? await chooseDashboardPort(options.dashboardPort) : undefined;

  if (created !== undefined) output.created(created);
  output.starting();
  const { clickhouse, stop } = await openClickHouse(options, dataDir, { logger, signal });
  const store = openLogStore(clickhouse);
  try {
    await store.migrate();
    const start = (port: number): ReturnType<typeof startStandin> =>
      startStandin({ ...options, upstreamCa, gatewayPort: port, dataDir, clickhouse, store, logger, output });
    const standin = await start(gatewayPort).catch(async (error: unknown) => {
      // Another process has taken the port in the meantime, and any other port will do.
      if (options.gatewayPort !== 0 || !isPortTaken(error)) throw error;
      return start(await choosePort(0));
    });
    let dashboard: Awaited<ReturnType<typeof startDashboard>> | undefined;
    // Without pages, only commands use the API, and they read the token from the run file.
    const needsToken = options.requireToken || !options.dashboard;
    const over = new AbortController();
    let command: Promise<number> | undefined;
    const token = needsToken ? randomBytes(TOKEN_BYTES).toString('base64url') : undefined;
    try {
      const isServer = options.clickhouseUrl !== undefined;
      const run = { pid: process.pid, clickhouse: { ...clickhouse, isServer }, gateway: standin.url, from: from.kind };
      await writeRunFile(dataDir, run);
      const ready = await standin.ready(signal);
      dashboard = await startDashboard({
        port: dashboardPort,
        isPortWanted: options.dashboardPort !== undefined,
        backend: standin.backend,
        token,
        shares: standin.shares,
        logger,
        output,
      });
      const { url: apiUrl, hasPages } = dashboard;
      // Endpoints must not reach the API, because it requires no login, or its token is in a file.
      standin.refused.add(urlTarget(new URL(apiUrl)));
      const api = { url: hasPages ? apiUrl : withLoopbackHost(apiUrl), token, hasPages };
      await writeRunFile(dataDir, { ...run, api });
      output.ready({ ...ready, ...(hasPages && { dashboard: apiUrl, dashboardToken: token }) });
      const watched = AbortSignal.any([signal, over.signal]);
      const ends = [watchDataFolder(dataDir, options.data, watched), standin.ended];
      if (options.exec !== undefined) {
        // The exit code if something else ends first.
        process.exitCode = 1;
        command = runCommand(options.exec, commandVariables(ready, api), watched);
        ends.push(command.then((code) => void (process.exitCode = watched.aborted ? 1 : code)));
      }
      await Promise.race(ends);
    } finally {
      over.abort();
      if (signal.aborted) output.stopping();
      // It may still use Standin, to delete what it has created.
      await command?.catch(() => undefined);
      await removeRunFile(dataDir);
      await dashboard?.stop();
      await standin.stop();
    }
  } finally {
    await store.close();
    await stop();
  }
};

/** Returns the variables with which a command finds Standin. */
const commandVariables = (
  { accounts, projects }: Ready,
  api: { readonly url: string; readonly token: string | undefined },
): Record<string, string> => {
  const [account, ...moreAccounts] = accounts;
  const [project, ...moreProjects] = projects;
  return {
    STANDIN_URL: api.url,
    ...(api.token !== undefined && { STANDIN_TOKEN: api.token }),
    ...(project !== undefined && moreProjects.length === 0 && { PROJECT_URL: project.url }),
    ...(account !== undefined && moreAccounts.length === 0 && { API_KEY: account.apiKey }),
  };
};

interface OpenedClickHouse {
  readonly clickhouse: EngineAddress & { readonly database: string };
  readonly stop: () => Promise<void>;
}

/** Starts ClickHouse on the data folder, or returns the address of the user's server. */
const openClickHouse = async (
  options: DevOptions,
  dataDir: string,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<OpenedClickHouse> => {
  const { clickhouseUrl: url, clickhouseUser: username, clickhousePassword: password, database } = options;
  if (url !== undefined) {
    return { clickhouse: { url, username, password, database }, stop: () => Promise.resolve() };
  }
  const engine = await openEngine({ dataDir: path.join(dataDir, 'clickhouse'), logger, signal }).catch(
    async (error: unknown) => {
      // Two processes may have started at the same time. The other one may now be using the folder.
      await refuseWhereOneRuns(dataDir, options.data);
      throw error;
    },
  );
  return {
    clickhouse: { url: engine.url, username: engine.username, password: engine.password, database },
    stop: () => engine.stop(),
  };
};

/** Rejects if `standin dev` is already running for the folder. `data` is the folder as the user typed it. */
const refuseWhereOneRuns = async (dataDir: string, data: string): Promise<void> => {
  const running = await findRunning(dataDir);
  if (running === undefined) return;
  throw new PlainError(
    `standin dev is already running for ${data} at ${running.gateway}: stop it (process ${running.pid}), or choose another folder with --data`,
  );
};

/**
 * Returns the URL with 127.0.0.1. Another user may be listening on the same port of ::1, to which `localhost` may also resolve.
 */
const withLoopbackHost = (url: string): string => {
  const { protocol, port } = new URL(url);
  return `${protocol}//127.0.0.1:${port}`;
};
