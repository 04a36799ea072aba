import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { errorMessage } from '@standin/contract/error-message';
import { EngineStartError, THREADPOOL_SIZE } from './engine-process.ts';
import type { Credentials, EngineMessage } from './engine-process.ts';
import { createHttpFront } from './http-front.ts';
import { newLogin, readLogin, writeCurlLogin } from './login.ts';

/**
 * The embedded ClickHouse engine as a separate process. To run it manually, use `npm run clickhouse -- --port 8123 --data DIR`. As
 * a child of `startEmbeddedEngine`, it reports over the IPC channel and exits when the channel closes, so the engine never outlives
 * its parent.
 */

const LOOPBACK = '127.0.0.1';
const SHUTDOWN_MS_MAX = 5_000;

const usage = `Usage: npm run clickhouse -- [--host ${LOOPBACK}] [--port 8123] [--data .standin/clickhouse] [--login DIR] [--config FILE]

Runs the embedded ClickHouse engine with its HTTP interface until you press Ctrl+C. Port 0 selects a free port. If --host is not a
loopback address (0.0.0.0 means all addresses of this machine), the engine also accepts connections from other machines. --config names
a ClickHouse configuration file, such as one with clusters. --login names a folder that contains the files username and password, such
as a mounted Secret. Without --login, each start creates a new password and prints the name of the file that contains it.
`;

interface Arguments {
  readonly host: string;
  readonly port: number;
  readonly data: string;
  readonly login: string | undefined;
  readonly config: string | undefined;
}

const readArguments = (): Arguments => {
  try {
    const { values } = parseArgs({
      options: {
        host: { type: 'string', default: LOOPBACK },
        port: { type: 'string', default: '8123' },
        data: { type: 'string', default: '.standin/clickhouse' },
        login: { type: 'string' },
        config: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(usage);
      process.exit(0);
    }
    const port = Number(values.port);
    if (!/^\d+$/.test(values.port) || port > 65_535)
      throw new Error(`--port must be a port from 0 to 65535, not ${values.port}`);
    return { host: values.host, port, data: values.data, login: values.login, config: values.config };
  } catch (error) {
    throw new EngineStartError(errorMessage(error), { cause: error });
  }
};

/** Returns the login from a parent over the IPC channel or from a folder, or undefined if there is neither. */
const givenLogin = async ({ login }: Arguments): Promise<Credentials | undefined> => {
  if (!process.send) return login === undefined ? undefined : readLogin(login);
  const [credentials] = (await once(process, 'message')) as [Credentials];
  return credentials;
};

/** Loads chdb, which is not installed with `npm install --omit=optional`, and is not available for all platforms. */
const loadEngine = async () => {
  try {
    return await import('./engine.ts');
  } catch (error) {
    const [reason = ''] = errorMessage(error).split('\n', 1);
    throw new EngineStartError(
      `chdb, the embedded ClickHouse, cannot be loaded: ${reason}. Install it, or pass --clickhouse-url to use a server`,
      { cause: error },
    );
  }
};

const listen = async (
  server: ReturnType<typeof createHttpFront>,
  { host, port }: Pick<Arguments, 'host' | 'port'>,
): Promise<string> => {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const busy = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    throw new EngineStartError(
      busy
        ? `port ${port} is in use; choose another port for ClickHouse`
        : `cannot listen on ${host} port ${port}: ${String(error)}`,
      { cause: error },
    );
  }
  return `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`;
};

const report = (message: EngineMessage, curlFile?: string): void => {
  if (process.send) {
    process.send(message);
  } else if ('error' in message) {
    process.stderr.write(`clickhouse: ${message.error}\n`);
  } else {
    const curl = curlFile === undefined ? 'curl' : `curl -K ${curlFile}`;
    process.stdout.write(
      `ClickHouse is listening on ${message.url}\n\n  ${curl} '${message.url}/' --data-binary 'SELECT version()'\n  ${curl} '${message.url}/?database=standin' --data-binary 'SELECT received_at, method, path, status FROM log ORDER BY received_at DESC LIMIT 10 FORMAT PrettyCompact'\n\nPress Ctrl+C to stop it.\n`,
    );
  }
};

/**
 * Ends the process without the engine's destructors, which crash while statements are running. Acknowledged data is already in the
 * files.
 */
const endAtOnce = (): void => void process.kill(process.pid, 'SIGKILL');

const main = async (): Promise<void> => {
  const given = readArguments();
  const { host, port, data, config } = given;
  const login = await givenLogin(given);
  const { openEngine } = await loadEngine();
  const engine = await openEngine(data, config);
  const credentials = login ?? newLogin();
  const curlFile = login === undefined ? await writeCurlLogin(data, credentials) : undefined;
  const fromElsewhere = !/^(localhost|127\..*|::1)$/.test(host);
  const server = createHttpFront(engine, { fromElsewhere, credentials });
  const url = await listen(server, { host, port });

  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    engine.inserts?.close();
    // Running statements finish. Idle connections are closed.
    server.close(() => {
      engine.close();
      if (curlFile !== undefined) rmSync(curlFile, { force: true });
      process.exit(0);
    });
    setInterval(() => server.closeIdleConnections(), 50).unref();
    setTimeout(endAtOnce, SHUTDOWN_MS_MAX).unref();
  };
  const onSignal = (): void => (stopping ? endAtOnce() : stop());
  process.on('SIGTERM', onSignal);
  if (process.send) {
    // Ctrl+C reaches the whole process group. The parent still has rows to deliver, and stops this process afterwards.
    process.on('SIGINT', () => undefined);
    process.on('disconnect', stop);
  } else {
    process.on('SIGINT', onSignal);
  }
  report({ url }, curlFile);
};

// Must be set before the pool is first used. A parent has already set it.
process.env['UV_THREADPOOL_SIZE'] ??= String(THREADPOOL_SIZE);

main().catch((error: unknown) => {
  report(error instanceof EngineStartError ? { error: error.message, inUse: error.inUse } : { error: String(error) });
  process.exitCode = 1;
  if (process.send) process.disconnect();
});
