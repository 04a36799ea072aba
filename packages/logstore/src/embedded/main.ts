import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { DEFAULT_USER } from './credentials.ts';
import { openEngine } from './engine.ts';
import { EngineStartError, THREADPOOL_SIZE } from './engine-process.ts';
import type { EngineMessage } from './engine-process.ts';
import { createHttpFront } from './http-front.ts';
import type { FrontAccess } from './http-front.ts';

/**
 * The embedded ClickHouse engine as a process of its own. By hand: `npm run clickhouse -- --port 8123 --data DIR`. As the child of
 * `startEmbeddedEngine` it reports over the IPC channel, and ends when that closes: it never outlives its parent.
 */

const LOOPBACK = '127.0.0.1';
const SHUTDOWN_MS_MAX = 5_000;

const usage = `Usage: npm run clickhouse -- [--host ${LOOPBACK}] [--port 8123] [--data .standin/clickhouse] [--config FILE]

Runs the embedded ClickHouse engine with its HTTP interface, until Ctrl+C. Port 0 takes any free one. With another --host than a
loopback address (0.0.0.0: all of this machine's) it answers programs of other machines, too. --config names a configuration file of
ClickHouse's own, such as one with clusters. STANDIN_ENGINE_USER and
STANDIN_ENGINE_PASSWORD in the environment name the one user that it knows; without a password it answers whoever reaches the port.
`;

interface Arguments {
  readonly host: string;
  readonly port: number;
  readonly data: string;
  readonly config: string | undefined;
}

const readArguments = (): Arguments => {
  try {
    const { values } = parseArgs({
      options: {
        host: { type: 'string', default: LOOPBACK },
        port: { type: 'string', default: '8123' },
        data: { type: 'string', default: '.standin/clickhouse' },
        config: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(usage);
      process.exit(0);
    }
    const port = Number(values.port);
    if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`--port ${values.port} is not a port`);
    return { host: values.host, port, data: values.data, config: values.config };
  } catch (error) {
    throw new EngineStartError(error instanceof Error ? error.message : String(error), { cause: error });
  }
};

/** A parent's environment is not meant for its engine. */
const accessOf = (host: string): FrontAccess => {
  const { STANDIN_ENGINE_USER: user = '', STANDIN_ENGINE_PASSWORD: password = '' } = process.send ? {} : process.env;
  return {
    fromElsewhere: !/^(localhost|127\..*|::1)$/.test(host),
    credentials: password === '' ? undefined : { user: user === '' ? DEFAULT_USER : user, password },
  };
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
        ? `port ${port} is in use: choose another for ClickHouse`
        : `cannot listen on ${host} port ${port}: ${String(error)}`,
      { cause: error },
    );
  }
  return `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`;
};

const report = (message: EngineMessage): void => {
  if (process.send) {
    process.send(message);
  } else if ('error' in message) {
    process.stderr.write(`clickhouse: ${message.error}\n`);
  } else {
    process.stdout.write(
      `ClickHouse listens on ${message.url}\n\n  curl '${message.url}/' --data-binary 'SELECT version()'\n  curl '${message.url}/?database=standin' --data-binary 'SELECT received_at, method, path, status FROM log ORDER BY received_at DESC LIMIT 10 FORMAT PrettyCompact'\n\nCtrl+C stops it.\n`,
    );
  }
};

/** The engine's destructors crash where statements still run. What was acknowledged is in its files. */
const endAtOnce = (): void => void process.kill(process.pid, 'SIGKILL');

const main = async (): Promise<void> => {
  const { host, port, data, config } = readArguments();
  const engine = await openEngine(data, config);
  const server = createHttpFront(engine, accessOf(host));
  const url = await listen(server, { host, port });

  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    engine.inserts?.close();
    // Statements that run are finished, connections that idle are cut.
    server.close(() => {
      engine.close();
      process.exit(0);
    });
    setInterval(() => server.closeIdleConnections(), 50).unref();
    setTimeout(endAtOnce, SHUTDOWN_MS_MAX).unref();
  };
  const onSignal = (): void => (stopping ? endAtOnce() : stop());
  process.on('SIGTERM', onSignal);
  if (process.send) {
    // Ctrl+C reaches the whole process group; the parent still has rows to deliver, and stops us when it is done.
    process.on('SIGINT', () => undefined);
    process.on('disconnect', stop);
  } else {
    process.on('SIGINT', onSignal);
  }
  report({ url });
};

// Before anything uses the pool; a parent has set it already.
process.env['UV_THREADPOOL_SIZE'] ??= String(THREADPOOL_SIZE);

main().catch((error: unknown) => {
  report(error instanceof EngineStartError ? { error: error.message, inUse: error.inUse } : { error: String(error) });
  process.exitCode = 1;
  if (process.send) process.disconnect();
});
