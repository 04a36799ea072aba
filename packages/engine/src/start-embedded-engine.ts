import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { exponentialMs } from '@standin/contract';
import type { Logger } from 'pino';
import { EngineStartError, THREADPOOL_SIZE } from './engine-process.ts';
import type { Credentials, EngineMessage } from './engine-process.ts';
import { newLogin } from './login.ts';

/**
 * The address and login for `openLogStore`. Each call of `startEmbeddedEngine` creates a new password, which stays valid when the
 * engine restarts after a crash.
 */
export interface EngineAddress {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

export interface EmbeddedEngineOptions {
  /** The folder is created if it does not exist. Only one engine at a time can use the folder. */
  readonly dataDir: string;
  /** 0, the default, selects a free port. */
  readonly port?: number | undefined;
  /** A ClickHouse configuration file, such as one with `remote_servers`. */
  readonly configFile?: string | undefined;
  readonly logger?: Logger | undefined;
}

export interface EmbeddedEngine extends EngineAddress {
  /** The id of the engine's process. The id changes when the engine crashes and restarts. */
  readonly pid: number | undefined;
  /** Ends the process. Statements that are running have about 5 s to finish. */
  stop(): Promise<void>;
}

/**
 * Settings for jemalloc, the engine's allocator. With them, freed memory returns to the system within a second, and all threads
 * share two arenas.
 */
const MALLOC_CONF = 'narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:0,tcache_max:4096';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));

/** Allows for a cold start with a large folder. A start usually takes less than 0.5 s. */
const START_MS_MAX = 60_000;
const STOP_MS_MAX = 10_000;
const RESTART_BACKOFF = { baseMs: 500, capMs: 30_000 };

/**
 * Logs the lines that the process prints, once startup has ended: as warnings if it succeeded, and for debugging if it failed,
 * because `launch` then throws an error that says why.
 */
const logLines = (child: ChildProcess, ready: Promise<unknown>, logger: Logger | undefined): void => {
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (line) => {
      ready.then(
        () => logger?.warn({ line }, 'clickhouse engine'),
        () => logger?.debug({ line }, 'clickhouse engine'),
      );
    });
  }
};

const exited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

const untilExit = async (child: ChildProcess): Promise<void> => {
  if (!exited(child)) await new Promise((resolve) => child.once('exit', resolve));
};

/** Resolves with the engine's URL, or throws an `EngineStartError`. */
const firstWord = async (child: ChildProcess): Promise<string> => {
  const ended = once(child, 'exit').then(([code, signal]): EngineMessage => {
    return { error: `the ClickHouse engine exited during startup (${String(signal ?? code)})` };
  });
  const said = once(child, 'message').then(([message]) => message as EngineMessage);
  const late: EngineMessage = { error: `the ClickHouse engine was not ready within ${START_MS_MAX / 1000} s` };
  const message = await Promise.race([said, ended, delay(START_MS_MAX, late, { ref: false })]);
  if ('error' in message) throw new EngineStartError(message.error, { inUse: message.inUse ?? false });
  return message.url;
};

/** Starts the process and waits for its first message. Kills the process if `signal` aborts before that message. */
const launch = async (
  { dataDir, port = 0, configFile, logger }: EmbeddedEngineOptions,
  login: Credentials,
  signal: AbortSignal,
): Promise<{ child: ChildProcess; url: string }> => {
  const config = configFile === undefined ? [] : ['--config', configFile];
  const child = fork(main, ['--data', dataDir, '--port', String(port), ...config], {
    // Does not inherit the parent's Node options, because the loaders or --inspect of a test runner are not for the engine.
    // `--optimize-for-size` saves memory and makes JavaScript slower, but the engine's JavaScript only passes bytes through.
    execArgv: ['--optimize-for-size'],
    env: { MALLOC_CONF, ...process.env, UV_THREADPOOL_SIZE: String(THREADPOOL_SIZE) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  child.on('error', (error) => logger?.error({ err: error }, 'clickhouse engine process error'));
  const ready = firstWord(child);
  // An error is ignored, because `firstWord` reports a child that has exited.
  child.send(login, () => undefined);
  logLines(child, ready, logger);
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  try {
    return { child, url: await ready };
  } catch (error) {
    kill();
    throw error;
  } finally {
    signal.removeEventListener('abort', kill);
  }
};

const terminate = async (child: ChildProcess): Promise<void> => {
  child.kill('SIGTERM');
  const inTime = await Promise.race([untilExit(child).then(() => true), delay(STOP_MS_MAX, false, { ref: false })]);
  if (inTime) return;
  child.kill('SIGKILL');
  await untilExit(child);
};

/**
 * Runs ClickHouse on a folder, in a separate process behind its HTTP interface on the loopback address. The engine's process ends
 * with this process. After a crash, the engine restarts on the same port, which clients see as a short outage. Rejects with an
 * `EngineStartError` if the engine cannot be started, for example because the folder or the port is in use.
 */
export const startEmbeddedEngine = async (options: EmbeddedEngineOptions): Promise<EmbeddedEngine> => {
  const { logger } = options;
  const stopping = new AbortController();
  const login = newLogin();
  const first = await launch(options, login, stopping.signal);
  const { url } = first;
  const port = Number(new URL(url).port);
  let { child } = first;
  const isStopping = (): boolean => stopping.signal.aborted;

  const keepRunning = async (): Promise<void> => {
    let failures = 0;
    for (;;) {
      await untilExit(child);
      if (isStopping()) return;
      logger?.error({ code: child.exitCode, signal: child.signalCode }, 'clickhouse engine exited, restarting');
      await delay(exponentialMs(failures, RESTART_BACKOFF), undefined, { signal: stopping.signal }).catch(
        () => undefined,
      );
      if (isStopping()) return;
      try {
        ({ child } = await launch({ ...options, port }, login, stopping.signal));
        failures = 0;
      } catch (error) {
        if (!isStopping()) logger?.error({ err: error }, 'could not start the clickhouse engine');
        failures++;
      }
      // `stop` could only end the previous process.
      if (isStopping()) await terminate(child);
    }
  };
  const running = keepRunning();

  return {
    url,
    username: login.user,
    password: login.password,
    get pid() {
      return exited(child) ? undefined : child.pid;
    },
    async stop() {
      stopping.abort();
      await terminate(child);
      await running;
    },
  };
};
