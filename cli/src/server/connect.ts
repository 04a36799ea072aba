import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PlainError } from '../plain-error.ts';
import { apiClient, RESPONSE_LIMITS, type ApiClient, type ResponseLimits } from './api-client.ts';
import { kubeconfigToken, type FindToken } from './find-token.ts';
import { findRunning, isAlive, readRunFile, type RunFile } from './run-file.ts';
import { isLoopback, type ServerOptions } from './server-options.ts';

export interface ApiOptions extends ServerOptions {
  /** The data folder of `standin dev`, used without `--server`. */
  readonly data: string;
}

/**
 * Resolves with the JSON API that a command uses, which is that of `--server`, of a cluster, or of `standin dev` for the data
 * folder. Rejects with a `PlainError` if there is none.
 */
export const openApi = async (options: ApiOptions): Promise<ApiClient> => {
  const api = (await openRemote(options)) ?? (await awaitLocal(options.data));
  if (api !== undefined) return api;
  throw new PlainError(
    `standin dev is not running for ${options.data}: start it first, set its folder with --data, or use a cluster with --context or --server`,
  );
};

/** Resolves with the dashboard of a cluster or of `--server`, or with `undefined` if the command works on this machine. */
export const openRemote = async (options: ServerOptions): Promise<ApiClient | undefined> => {
  if (options.cluster !== true) return openServer(options);
  // Loaded on demand, because the Kubernetes client takes long to load.
  const { openCluster } = await import('./open-cluster.ts');
  return openCluster(options);
};

/**
 * Returns the server, or `undefined` without `--server`, in which case the command works on this machine. Throws a `PlainError` for
 * an invalid URL, and for plain HTTP to another machine.
 */
export const openServer = (
  { server, token, trustServer = false, dangerouslyAllowHttp = false }: ServerOptions,
  limits: ResponseLimits = RESPONSE_LIMITS,
): ApiClient | undefined => {
  if (server === undefined) return undefined;
  if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol)) {
    throw new PlainError(`--server must be a URL such as https://standin.example.com, not ${server}`);
  }
  const base = new URL(server);
  if (base.protocol === 'http:' && !isLoopback(base) && !dangerouslyAllowHttp) {
    throw new PlainError(
      `--server ${server} uses plain http: anyone on the network path can read the token and the traffic. Use https, or add --dangerously-allow-http`,
    );
  }
  const given = token === '' ? undefined : token;
  return apiClient(base, { findToken: given === undefined ? kubeconfigToken(trustServer) : undefined, given, limits });
};

/** Covers the first dashboard build, and a cluster that responds slowly. */
const START_MS_MAX = 60_000;
const START_POLL_MS = 200;

/**
 * Resolves with the API of the `standin dev` that is running for a data folder, or with undefined if there is none. Waits while
 * it starts.
 */
const awaitLocal = async (data: string): Promise<ApiClient | undefined> => {
  const deadline = performance.now() + START_MS_MAX;
  for (;;) {
    const api = await findLocal(data);
    if (api !== undefined || (await findRunning(path.resolve(data))) === undefined) return api;
    if (performance.now() > deadline)
      throw new PlainError(`standin dev for ${data} is not responding: try again when it is ready`);
    await delay(START_POLL_MS);
  }
};

/**
 * Resolves with the API of `standin dev` for a data folder, or with undefined if `standin dev` is not running or is still starting.
 */
export const findLocal = async (data: string): Promise<ApiClient | undefined> => {
  const dataDir = path.resolve(data);
  const run = await readRunFile(dataDir);
  if (run?.api === undefined) return undefined;
  // A killed process leaves its run file behind, and another process may be using its port. The run file counts only if its process
  // or its ClickHouse is running, because ClickHouse may be unavailable while the process runs.
  const isOurs = isAlive(run.pid) || (await findRunning(dataDir)) !== undefined;
  return isOurs && (await isServed(run.api)) ? localClient(dataDir, run.api) : undefined;
};

type LocalApi = NonNullable<RunFile['api']>;

const RESPONSE_MS_MAX = 5_000;

const isServed = ({ url }: LocalApi): Promise<boolean> =>
  fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(RESPONSE_MS_MAX) }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Connects to `standin dev`, which never receives a kubeconfig's token. */
const localClient = (dataDir: string, { url, token, hasPages }: LocalApi): ApiClient =>
  apiClient(new URL(url), {
    findToken: token === undefined ? needsNoToken : undefined,
    given: token,
    limits: RESPONSE_LIMITS,
    local: {
      hasPages,
      token,
      checkRunning: async () => {
        // A killed process leaves its run file behind.
        const now = await readRunFile(dataDir);
        if (now?.api?.url !== url || !isAlive(now.pid)) throw new PlainError('standin dev has ended');
      },
    },
  });

const needsNoToken: FindToken = ({ server }) =>
  Promise.reject(
    new PlainError(`${server.host} requires a token, so it is not standin dev: pass a dashboard URL with --server`),
  );
