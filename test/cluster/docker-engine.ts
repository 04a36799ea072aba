import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { installDebianPackages } from './debian-packages.ts';
import { cacheFolder, MissingToolError, type Progress } from './go-program.ts';
import { isAlive } from './is-alive.ts';
import { acquireLock } from './lock-file.ts';
import { runCommand } from './run-command.ts';

/**
 * A running Docker engine. If it is the tests' own, DOCKER_HOST of this process points to it until `stop`, so that docker and
 * testcontainers find it.
 */
export interface DockerEngine {
  /** The value of DOCKER_HOST, such as `unix:///…/docker.sock`. Undefined if docker finds the engine by its own defaults. */
  readonly host: string | undefined;
  /** Whether the engine is the tests' own, which usually cannot pull missing images. */
  readonly isOwn: boolean;
  /** Releases the engine. The tests' own engine stops with all its containers when no process holds it. */
  stop(): Promise<void>;
}

const DOCKER_REMEDY =
  'Install Docker (https://docs.docker.com/engine/install/) and allow this user to use it. As root on Debian, the tests install and start it.';

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;
const POLL_MS = 100;
const LOG_TAIL_CHARS = 2_000;

/** Returns the folder of the tests' own engine. It keeps images and layers between runs, because building them takes minutes. */
const folder = (): string => path.join(cacheFolder(), 'docker');
const inFolder = (name: string): string => path.join(folder(), name);
const ownHost = (): string => `unix://${inFolder('docker.sock')}`;

/**
 * Uses this machine's Docker engine (DOCKER_HOST, or docker's default) if it is running. Otherwise, as root on Debian, starts the
 * tests' own engine, which is installed from Debian's packages if missing and shared by all processes that hold it. The tests' own
 * engine has no bridge and does not change iptables, because containers use the host's network. Throws MissingToolError if neither
 * is possible.
 */
export const startDockerEngine = async (log: Progress): Promise<DockerEngine> => {
  if (await isRunning(undefined)) {
    const isOwn = process.env['DOCKER_HOST'] === ownHost();
    return { host: process.env['DOCKER_HOST'], isOwn, stop: () => Promise.resolve() };
  }
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new MissingToolError(`The images need a Docker engine. ${DOCKER_REMEDY}`);
  }
  await installEngine(log);
  const holder = await hold(log);
  const before = process.env['DOCKER_HOST'];
  process.env['DOCKER_HOST'] = ownHost();
  // If /.dockerenv exists on this machine, testcontainers uses the address of a bridge, but this engine has no bridge.
  process.env['TESTCONTAINERS_HOST_OVERRIDE'] ??= 'localhost';
  const stop = async (): Promise<void> => {
    if (before === undefined) delete process.env['DOCKER_HOST'];
    else process.env['DOCKER_HOST'] = before;
    await release(holder, log);
  };
  return { host: ownHost(), isOwn: true, stop };
};

/** Returns whether an engine responds at `host`. If `host` is undefined, docker uses DOCKER_HOST or its own default. */
const isRunning = async (host: string | undefined): Promise<boolean> => {
  const env = host === undefined ? process.env : { ...process.env, DOCKER_HOST: host };
  const args = ['info', '--format', '{{.ServerVersion}}'];
  const { code, stdout } = await runCommand('docker', args, { env }).catch(() => ({ code: 1, stdout: '' }));
  return code === 0 && stdout.trim() !== '';
};

const installEngine = async (log: Progress): Promise<void> => {
  const has = async (command: string): Promise<boolean> =>
    (await runCommand(command, ['--version']).catch(() => ({ code: 1 }))).code === 0;
  if (!(await has('dockerd'))) await installDebianPackages(['docker.io'], log);
  // The client has been a separate package since Debian 13.
  if (!(await has('docker'))) await installDebianPackages(['docker-cli'], log);
};

/** Acquires the lock that is held while the engine starts or ends. */
const lock = (log: Progress): Promise<() => Promise<void>> =>
  acquireLock(inFolder('lock'), {
    onWait: (owner) => log(`waiting for the Docker engine, which process ${owner} starts or ends`),
    timeoutMs: READY_TIMEOUT_MS + STOP_TIMEOUT_MS,
  });

/**
 * Registers this process as a user of the engine, and starts the engine if it is not running. Returns the file to pass to
 * `release`.
 */
const hold = async (log: Progress): Promise<string> => {
  await mkdir(inFolder('holders'), { recursive: true, mode: 0o700 });
  const unlock = await lock(log);
  try {
    // An engine without holders is left over from a killed run, possibly with its containers.
    if ((await removeDeadHolders()) === 0) await endEngine();
    if (!(await isRunning(ownHost()))) {
      await launch();
      await removeLeftovers();
    }
    const holder = path.join(inFolder('holders'), `${process.pid}.${randomUUID()}`);
    await writeFile(holder, '');
    return holder;
  } finally {
    await unlock();
  }
};

const release = async (holder: string, log: Progress): Promise<void> => {
  const unlock = await lock(log);
  try {
    await rm(holder, { force: true });
    if ((await removeDeadHolders()) === 0) await endEngine();
  } finally {
    await unlock();
  }
};

/** Removes the files of holders whose process has ended. Returns the number of remaining holders. */
const removeDeadHolders = async (): Promise<number> => {
  const names = await readdir(inFolder('holders'));
  const dead = names.filter((name) => !isAlive(Number(name.split('.')[0])));
  await Promise.all(dead.map((name) => rm(path.join(inFolder('holders'), name), { force: true })));
  return names.length - dead.length;
};

const launch = async (): Promise<void> => {
  const log = openSync(inFolder('dockerd.log'), 'w');
  const args = [
    ...['--data-root', inFolder('data'), '--exec-root', inFolder('exec'), '--pidfile', inFolder('pid')],
    ...['--host', ownHost(), '--bridge', 'none', '--iptables=false', '--ip6tables=false', '--ip-forward=false'],
  ];
  // The engine outlives this process if another process also holds it.
  const child = spawn('dockerd', args, { stdio: ['ignore', log, log], detached: true });
  closeSync(log);
  // A program that fails to start has no process id.
  child.on('error', () => undefined).unref();
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  for (let waited = 0; waited < READY_TIMEOUT_MS && !hasEnded(); waited += POLL_MS) {
    if (await isRunning(ownHost())) return;
    await delay(POLL_MS);
  }
  const output = await readFile(inFolder('dockerd.log'), 'utf8').catch(() => '');
  const what = hasEnded() ? 'ended' : `was not ready after ${READY_TIMEOUT_MS / 1000} s`;
  // A possible cause is that this machine is an unprivileged container.
  throw new MissingToolError(
    `A Docker engine cannot be started on this machine: dockerd ${what}. ${DOCKER_REMEDY}\n${output.slice(-LOG_TAIL_CHARS)}`,
  );
};

/** Removes the leftovers of killed tests: containers that ended with the engine, and their volumes. */
const removeLeftovers = async (): Promise<void> => {
  const env = { ...process.env, DOCKER_HOST: ownHost() };
  for (const kind of ['container', 'volume']) await runCommand('docker', [kind, 'prune', '--force'], { env });
};

/** Ends the engine with its containers and removes leftover mounts. Does nothing if the engine is not running. */
const endEngine = async (): Promise<void> => {
  const pid = Number(await readFile(inFolder('pid'), 'utf8').catch(() => '0'));
  if (pid > 0 && (await isDockerd(pid))) {
    process.kill(pid, 'SIGTERM');
    for (let waited = 0; (await isDockerd(pid)) && waited < STOP_TIMEOUT_MS; waited += POLL_MS) await delay(POLL_MS);
    if (await isDockerd(pid)) process.kill(pid, 'SIGKILL');
  }
  const mounts = existsSync('/proc/self/mounts') ? await readFile('/proc/self/mounts', 'utf8') : '';
  const ownMounts = mounts.split('\n').flatMap((line) => line.split(' ')[1] ?? []);
  for (const mount of ownMounts.filter((target) => target.startsWith(`${folder()}/`)).reverse()) {
    await runCommand('umount', [mount]);
  }
  await rm(inFolder('exec'), { recursive: true, force: true });
  await rm(inFolder('pid'), { force: true });
};

/** Returns whether the process is dockerd. The recorded process id may now belong to a different process. */
const isDockerd = async (pid: number): Promise<boolean> =>
  (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() === 'dockerd';
