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

/** A Docker engine that answers. While it is held, DOCKER_HOST of this process leads to it, so docker and testcontainers find it. */
export interface DockerEngine {
  /** `unix:///…/docker.sock`; undefined where docker finds it by its own defaults. */
  readonly host: string | undefined;
  /** Ours: images that are not on it cannot be pulled, as a rule. */
  readonly isOwn: boolean;
  /** Lets go of it. Our own ends when nobody holds it any more, with all its containers. */
  stop(): Promise<void>;
}

const DOCKER_REMEDY =
  'Install Docker (https://docs.docker.com/engine/install/) and let this user use it; as root on Debian it is installed and started here.';

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;
const POLL_MS = 100;
const LOG_TAIL_CHARS = 2_000;

/** Images and layers are kept from run to run: they are what takes minutes. */
const folder = (): string => path.join(cacheFolder(), 'docker');
const inFolder = (name: string): string => path.join(folder(), name);
const ownHost = (): string => `unix://${inFolder('docker.sock')}`;

/**
 * The Docker that runs here (DOCKER_HOST, or where docker looks by itself); else, as root on Debian, one of our own, installed from Debian's
 * packages where it is missing and shared by all processes that hold it. It has no bridge and touches no iptables: containers use the
 * host's network. Throws MissingToolError where there can be none.
 */
export const startDockerEngine = async (log: Progress): Promise<DockerEngine> => {
  if (await answers(undefined)) {
    const isOwn = process.env['DOCKER_HOST'] === ownHost();
    return { host: process.env['DOCKER_HOST'], isOwn, stop: () => Promise.resolve() };
  }
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new MissingToolError(`There is no Docker engine for the images. ${DOCKER_REMEDY}`);
  }
  await installEngine(log);
  const holder = await hold(log);
  const before = process.env['DOCKER_HOST'];
  process.env['DOCKER_HOST'] = ownHost();
  // testcontainers: with /.dockerenv on this machine it asks a bridge for the address, and there is none.
  process.env['TESTCONTAINERS_HOST_OVERRIDE'] ??= 'localhost';
  const stop = async (): Promise<void> => {
    if (before === undefined) delete process.env['DOCKER_HOST'];
    else process.env['DOCKER_HOST'] = before;
    await release(holder, log);
  };
  return { host: ownHost(), isOwn: true, stop };
};

/** Whether an engine answers under this address, or where docker looks by itself. */
const answers = async (host: string | undefined): Promise<boolean> => {
  const env = host === undefined ? process.env : { ...process.env, DOCKER_HOST: host };
  const args = ['info', '--format', '{{.ServerVersion}}'];
  const { code, stdout } = await runCommand('docker', args, { env }).catch(() => ({ code: 1, stdout: '' }));
  return code === 0 && stdout.trim() !== '';
};

const installEngine = async (log: Progress): Promise<void> => {
  const has = async (command: string): Promise<boolean> =>
    (await runCommand(command, ['--version']).catch(() => ({ code: 1 }))).code === 0;
  if (!(await has('dockerd'))) await installDebianPackages(['docker.io'], log);
  // A package of its own from Debian 13 on.
  if (!(await has('docker'))) await installDebianPackages(['docker-cli'], log);
};

/** For as long as the engine starts or ends. */
const lock = (log: Progress): Promise<() => Promise<void>> =>
  acquireLock(inFolder('lock'), {
    onWait: (owner) => log(`waiting for the Docker engine, which process ${owner} starts or ends`),
    timeoutMs: READY_TIMEOUT_MS + STOP_TIMEOUT_MS,
  });

/** Notes that this process uses our engine, and starts it where it does not run. Returns the note, for `release`. */
const hold = async (log: Progress): Promise<string> => {
  await mkdir(inFolder('holders'), { recursive: true, mode: 0o700 });
  const unlock = await lock(log);
  try {
    // What nobody holds was left by a run that was killed, maybe with its containers.
    if ((await removeDeadHolders()) === 0) await endEngine();
    if (!(await answers(ownHost()))) {
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

/** How many are left. */
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
  // It outlives this process where another one holds it, too.
  const child = spawn('dockerd', args, { stdio: ['ignore', log, log], detached: true });
  closeSync(log);
  // One that cannot be started has no process id.
  child.on('error', () => undefined).unref();
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  for (let waited = 0; waited < READY_TIMEOUT_MS && !hasEnded(); waited += POLL_MS) {
    if (await answers(ownHost())) return;
    await delay(POLL_MS);
  }
  const said = await readFile(inFolder('dockerd.log'), 'utf8').catch(() => '');
  const what = hasEnded() ? 'ended' : `was not ready after ${READY_TIMEOUT_MS / 1000} s`;
  // In a container without privileges, for one.
  throw new MissingToolError(
    `No Docker engine can be started here: dockerd ${what}. ${DOCKER_REMEDY}\n${said.slice(-LOG_TAIL_CHARS)}`,
  );
};

/** Of tests that were killed: containers, which have ended with the engine, and their volumes. */
const removeLeftovers = async (): Promise<void> => {
  const env = { ...process.env, DOCKER_HOST: ownHost() };
  for (const kind of ['container', 'volume']) await runCommand('docker', [kind, 'prune', '--force'], { env });
};

/** Ends it with its containers, and what it leaves mounted. Nothing happens where it does not run. */
const endEngine = async (): Promise<void> => {
  const pid = Number(await readFile(inFolder('pid'), 'utf8').catch(() => '0'));
  if (pid > 0 && (await isDockerd(pid))) {
    process.kill(pid, 'SIGTERM');
    for (let waited = 0; (await isDockerd(pid)) && waited < STOP_TIMEOUT_MS; waited += POLL_MS) await delay(POLL_MS);
    if (await isDockerd(pid)) process.kill(pid, 'SIGKILL');
  }
  const mounts = existsSync('/proc/self/mounts') ? await readFile('/proc/self/mounts', 'utf8') : '';
  const ours = mounts.split('\n').flatMap((line) => line.split(' ')[1] ?? []);
  for (const mount of ours.filter((target) => target.startsWith(`${folder()}/`)).reverse()) {
    await runCommand('umount', [mount]);
  }
  await rm(inFolder('exec'), { recursive: true, force: true });
  await rm(inFolder('pid'), { force: true });
};

/** A process id that was written down may be somebody else's by now. */
const isDockerd = async (pid: number): Promise<boolean> =>
  (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() === 'dockerd';
