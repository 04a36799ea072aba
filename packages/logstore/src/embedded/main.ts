import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { openEngine } from './engine.ts';
import { EngineStartError, THREADPOOL_SIZE } from './engine-process.ts';
import type { EngineMessage } from './engine-process.ts';
import { createHttpFront } from './http-front.ts';

/**
 * The embedded ClickHouse engine as a process of its own. By hand: `npm run clickhouse -- --port 8123 --data DIR`. As the child of
 * `startEmbeddedEngine` it reports over the IPC channel, and ends when that closes: it never outlives its parent.
 */

const HOST = '127.0.0.1';
const SHUTDOWN_MS_MAX = 5_000;

const usage = `Usage: npm run clickhouse -- [--port 8123] [--data .standin/clickhouse]

Runs the embedded ClickHouse engine with its HTTP interface on ${HOST}, until Ctrl+C. Port 0 takes any free one.
`;

const readArguments = (): { port: number; data: string } => {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string', default: '8123' },
        data: { type: 'string', default: '.standin/clickhouse' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(usage);
      process.exit(0);
    }
    const port = Number(values.port);
    if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`--port ${values.port} is not a port`);
    return { port, data: values.data };
  } catch (error) {
    throw new EngineStartError(error instanceof Error ? error.message : String(error), { cause: error });
  }
};

const listen = async (server: ReturnType<typeof createHttpFront>, port: number): Promise<string> => {
  server.listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch (error) {
    const busy = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    throw new EngineStartError(
      busy
        ? `port ${port} is in use: choose another for ClickHouse`
        : `cannot listen on port ${port}: ${String(error)}`,
      { cause: error },
    );
  }
  return `http://${HOST}:${(server.address() as AddressInfo).port}`;
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
  const { port, data } = readArguments();
  const engine = await openEngine(data);
  const server = createHttpFront(engine);
  const url = await listen(server, port);

  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
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
