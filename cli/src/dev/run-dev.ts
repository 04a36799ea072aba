import { access, constants, mkdir, readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import { openLogStore, startEmbeddedEngine, tailSummaries } from '@standin/logstore';
import { pino } from 'pino';
import { PlainError } from '../plain-error.ts';
import { awaitStop } from '../shutdown.ts';
import { jsonOutput, textOutput, type DevOutput } from './dev-output.ts';
import { removeRunFile, writeRunFile } from './run-file.ts';
import { startStandin, type ResourcesFrom } from './start-standin.ts';

export interface DevOptions {
  readonly from: ResourcesFrom;
  readonly gatewayPort: number;
  readonly data: string;
  readonly output: 'text' | 'json';
  readonly denyPrivateUpstreams: boolean;
  readonly verbose: boolean;
  readonly colour: boolean;
}

/** `standin dev`: everything on this machine, until a signal comes. */
export const runDev = async (options: DevOptions): Promise<void> => {
  const output: DevOutput =
    options.output === 'json' ? jsonOutput(process.stdout) : textOutput(process.stdout, options.colour);
  const logger = pino({ level: options.verbose ? 'info' : 'fatal' }, pino.destination({ dest: 2, sync: true }));
  const dataDir = path.resolve(options.data);
  await checkReadable(options.from);
  await checkPort(options.gatewayPort);
  await mkdir(dataDir, { recursive: true }).catch((error: unknown) => {
    throw new PlainError(`cannot use ${options.data} for data: ${String(error)}; choose another folder with --data`);
  });

  const stop = awaitStop();
  output.starting();
  const engine = await startEmbeddedEngine({ dataDir: path.join(dataDir, 'clickhouse'), logger }).catch(
    (error: unknown) => {
      throw new PlainError(`${(error as Error).message}; is another standin dev running on ${options.data}?`);
    },
  );
  const store = openLogStore({ url: engine.url, username: 'default', password: '', database: 'standin' });
  const log = tailSummaries(store, { since: new Date() }, stop.signal);
  try {
    await store.migrate();
    const standin = await startStandin({ ...options, dataDir, clickhouseUrl: engine.url, logger, output });
    try {
      await writeRunFile(dataDir, { clickhouse: engine.url, gateway: standin.url });
      output.ready(await standin.ready(stop.signal));
      for await (const entry of log) output.request(entry);
    } finally {
      output.stopping();
      await standin.stop();
      await removeRunFile(dataDir);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    await store.close();
    await engine.stop();
    stop.done();
  }
};

const checkReadable = async (from: ResourcesFrom): Promise<void> => {
  const name = from.kind === 'directory' ? from.dir : from.kubeconfig;
  try {
    if (from.kind === 'directory') await readdir(name);
    else await access(name, constants.R_OK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    const remedy =
      from.kind === 'directory'
        ? 'name a directory of manifests, such as crds/examples/quickstart'
        : 'name a kubeconfig file';
    throw new PlainError(`${name} ${UNREADABLE[code] ?? `cannot be read (${code})`}: ${remedy}`);
  }
};

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a directory',
  EACCES: 'cannot be read: permission denied',
};

const checkPort = async (port: number): Promise<void> => {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new PlainError(`port ${port} is in use: stop what uses it, or choose another with --gateway-port`);
    if (code === 'EACCES')
      throw new PlainError(`port ${port} needs more rights: choose one from 1024 up with --gateway-port`);
    throw error;
  } finally {
    server.close();
  }
};
