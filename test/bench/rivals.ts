import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../harness/eventually.ts';
import { freePort } from '../harness/ports.ts';
import { packageFolder } from './npm-cache.ts';

/** A server that Standin is compared with. */
export interface Rival {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  /** Makes the server discard what it has recorded in earlier rounds. */
  forget?(): Promise<void>;
  stop(): Promise<void>;
}

export interface RivalOptions {
  /** The folder for the server's files. The caller removes the folder. */
  readonly directory: string;
  /** The slug of the one endpoint that all contenders serve. */
  readonly slug: string;
  readonly body: string;
}

/** A rival that cannot run on this machine. The message says what is missing. */
export class MissingRivalError extends Error {}

const MOCKOON_VERSION = '9.9.0';
const WIREMOCK_VERSION = '3.13.2';
const START_TIMEOUT_MS = 60_000;
const JSON_TYPE = 'application/json';
const run = promisify(execFile);

interface Program {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly port: number;
}

/**
 * Starts a program and resolves when its port responds. Discards the program's output. The program ends with this process at the
 * latest.
 */
const startProgram = async ({ name, file, args, cwd, port }: Program): Promise<Rival> => {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', file, ...args], { cwd, stdio: 'ignore' });
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  const answers = async (): Promise<boolean> => {
    if (child.exitCode !== null) return true;
    return (await fetch(`http://127.0.0.1:${port}/`)).body?.cancel().then(() => true) ?? true;
  };
  try {
    await eventually(`${name} to respond`, answers, { timeoutMs: START_TIMEOUT_MS });
    if (child.exitCode !== null) throw new Error(`${name} ended during startup (${child.exitCode})`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { name, pid: child.pid ?? 0, port, stop };
};

const startNode = async (kind: 'bare' | 'fastify', name: string, { directory, body }: RivalOptions): Promise<Rival> => {
  const port = await freePort();
  const bodyFile = path.join(directory, `${kind}.json`);
  await writeFile(bodyFile, body);
  const main = path.join(import.meta.dirname, 'rival-server.ts');
  const args = [main, kind, String(port), bodyFile];
  return startProgram({ name, file: process.execPath, args, cwd: import.meta.dirname, port });
};

export const startBare = (options: RivalOptions): Promise<Rival> => startNode('bare', 'bare Node http', options);

export const startFastify = (options: RivalOptions): Promise<Rival> => startNode('fastify', 'bare Fastify', options);

const installed = (name: string, version: string): Promise<string> =>
  packageFolder(name, version).catch((error: unknown) => {
    throw new MissingRivalError(`npm cannot install ${name} ${version}`, { cause: error });
  });

/**
 * Starts Mockoon's CLI with its defaults (one line per request on standard output, the last 100 requests in memory), but without
 * templates and log files.
 */
export const startMockoon = async ({ directory, slug, body }: RivalOptions): Promise<Rival> => {
  const port = await freePort();
  const dataFile = path.join(directory, 'mockoon.json');
  const response = {
    body,
    statusCode: 200,
    headers: [{ key: 'Content-Type', value: JSON_TYPE }],
    disableTemplating: true,
    default: true,
  };
  const route = { type: 'http', method: 'post', endpoint: slug.slice(1), responses: [response] };
  const environment = { name: 'bench', port, hostname: '127.0.0.1', cors: false, routes: [route] };
  await writeFile(dataFile, JSON.stringify(environment));
  const main = path.join(await installed('@mockoon/cli', MOCKOON_VERSION), 'bin/run.js');
  const args = [main, 'start', '--data', dataFile, '--repair', '--disable-log-to-file'];
  return startProgram({ name: `Mockoon ${MOCKOON_VERSION}`, file: process.execPath, args, cwd: directory, port });
};

/** Starts WireMock with its defaults, including its journal. WireMock responds with Content-Length, like the other servers. */
export const startWireMock = async ({ directory, slug, body }: RivalOptions): Promise<Rival> => {
  const hasJava = await run('java', ['-version']).then(
    () => true,
    () => false,
  );
  if (!hasJava) throw new MissingRivalError('Java is not installed (apt install default-jre-headless)');
  const port = await freePort();
  const root = path.join(directory, 'wiremock');
  await mkdir(path.join(root, 'mappings'), { recursive: true });
  const mapping = {
    request: { method: 'POST', urlPath: slug },
    response: { status: 200, headers: { 'Content-Type': JSON_TYPE }, body },
  };
  await writeFile(path.join(root, 'mappings/bench.json'), JSON.stringify(mapping));
  const jar = path.join(
    await installed('wiremock', WIREMOCK_VERSION),
    `build/wiremock-standalone-${WIREMOCK_VERSION}.jar`,
  );
  const listen = ['--port', String(port), '--bind-address', '127.0.0.1'];
  const args = ['-jar', jar, ...listen, '--root-dir', root, '--use-chunked-encoding', 'never'];
  const rival = await startProgram({ name: `WireMock ${WIREMOCK_VERSION}`, file: 'java', args, cwd: root, port });
  // The journal has no limit, so after a few rounds the benchmark would measure the heap size.
  const forget = async (): Promise<void> => {
    await fetch(`http://127.0.0.1:${port}/__admin/requests`, { method: 'DELETE' });
  };
  return { ...rival, forget };
};
