import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { installDebianPackages } from './debian-packages.ts';
import { docker, hasImage } from './docker.ts';
import { cacheFolder, MissingToolError, type Progress } from './go-program.ts';
import { runCommand } from './run-command.ts';

/** Matches the line of the Dockerfile that names the base image. */
export const NODE_IMAGE = /^ARG NODE_IMAGE=(\S+)$/m;

/** Node from the dev dependency. test/images.test.ts checks that its version matches the image's. */
const NODE_BINARY = path.join(import.meta.dirname, '../../node_modules/node/bin/node');
const DEBIAN_RELEASE = 'bookworm';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const PULL_TIMEOUT_MS = 10 * 60_000;
const BUILD_TIMEOUT_MS = 10 * 60_000;
/** Part of the hash in the substitute's tag. Increment it when the recipe changes, so that a new substitute is built. */
const RECIPE = 1;

/**
 * Returns the name of a base image that the engine has: `wanted`, or a substitute from an earlier call. If neither exists, pulls
 * `wanted`. If that fails, builds a substitute from Debian's packages, the Node of this checkout, and npm. Throws MissingToolError
 * if the pull fails and this machine cannot build a substitute.
 */
export const baseImage = async (wanted: string, log: Progress): Promise<string> => {
  if (await hasImage(wanted)) return wanted;
  const substitute = await substituteName(wanted);
  if (await hasImage(substitute)) return substitute;
  const { code, stderr } = await docker(['pull', '--quiet', wanted], { timeoutMs: PULL_TIMEOUT_MS });
  if (code === 0) return wanted;
  const reason = `${wanted} cannot be pulled (${stderr.trim().split('\n').at(-1) ?? ''})`;
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new MissingToolError(
      `${reason}. Pull it on a network with a registry, or run as root on Debian to build a substitute.`,
    );
  }
  log(`${reason}; building a substitute from Debian's packages (once, about a minute) …`);
  await buildSubstitute(substitute, log);
  return substitute;
};

/** Returns the substitute's name, whose tag is a hash of the parts that it is built from. */
const substituteName = async (wanted: string): Promise<string> => {
  const hash = createHash('sha256').update(`${RECIPE} ${wanted} ${process.arch}`);
  hash.update(await readFile(NODE_BINARY)).update(await certificates());
  return `standin-base:${hash.digest('hex').slice(0, 16)}`;
};

/**
 * Returns the CA certificates of NODE_EXTRA_CA_CERTS, or an empty buffer. The substitute contains them, because npm also needs them
 * inside image builds.
 */
const certificates = async (): Promise<Buffer> => {
  const file = process.env['NODE_EXTRA_CA_CERTS'];
  return file === undefined || file === '' ? Buffer.alloc(0) : readFile(file);
};

const buildSubstitute = async (name: string, log: Progress): Promise<void> => {
  if ((await runCommand('debootstrap', ['--version']).catch(() => ({ code: 1 }))).code !== 0) {
    await installDebianPackages(['debootstrap'], log);
  }
  const folder = path.join(cacheFolder(), 'docker');
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(path.join(folder, 'base-'));
  try {
    const root = path.join(work, 'root');
    await run('debootstrap', ['--variant=minbase', DEBIAN_RELEASE, root]);
    // Removing these folders reduces the size by a third. No further packages are installed in this image.
    for (const unused of ['var/cache/apt', 'var/lib/apt/lists', 'usr/share/locale', 'usr/share/man']) {
      await rm(path.join(root, unused), { recursive: true, force: true });
    }
    await copyFile(NODE_BINARY, path.join(root, 'usr/local/bin/node'));
    await installNpm(work, root);
    const environment = ['--change', `ENV PATH=${PATH}`];
    const trusted = await certificates();
    if (trusted.length > 0) {
      await copyFile(process.env['NODE_EXTRA_CA_CERTS'] ?? '', path.join(root, 'etc/machine-certificates.pem'));
      environment.push('--change', 'ENV NODE_EXTRA_CA_CERTS=/etc/machine-certificates.pem');
    }
    const tar = path.join(work, 'root.tar');
    await run('tar', ['-C', root, '-cf', tar, '.']);
    await run('docker', ['import', ...environment, tar, name]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
};

/** Installs npm from its package in the npm registry, which includes npm's dependencies. In Debian, these are separate packages. */
const installNpm = async (work: string, root: string): Promise<void> => {
  const version = (await run('npm', ['--version'])).trim();
  await run('npm', ['pack', '--silent', '--pack-destination', work, `npm@${version}`]);
  const packed = (await readdir(work)).find((file) => file.endsWith('.tgz'));
  if (packed === undefined) throw new Error('npm pack created no package');
  await run('tar', ['-C', work, '-xf', path.join(work, packed)]);
  const modules = path.join(root, 'usr/local/lib/node_modules');
  await mkdir(modules, { recursive: true });
  await rename(path.join(work, 'package'), path.join(modules, 'npm'));
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', path.join(root, 'usr/local/bin/npm'));
};

const run = async (command: string, args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await runCommand(command, args, { timeoutMs: BUILD_TIMEOUT_MS });
  if (code !== 0)
    throw new Error(`${command} ${args[0] ?? ''} ended with ${code}:\n${`${stdout}${stderr}`.slice(-2_000)}`);
  return stdout;
};
