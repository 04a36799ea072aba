import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { glob, mkdir, readFile, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress } from 'node:zlib';

const DASHBOARD = path.join(import.meta.dirname, '..');
const BUILDS = path.join(DASHBOARD, 'build');
/**
 * Everything that determines the contents of a build. The client bundle contains constants from the contract, and routes import
 * modules from `src`.
 */
const INPUTS = [
  'package.json',
  'vite.config.ts',
  'tsconfig.json',
  'app/**/*',
  'public/**/*',
  'src/**/*.ts',
  '../packages/contract/src/**/*.ts',
];
const LOCKFILE = '../package-lock.json';
/** The number of builds to keep, including the current one. Other processes may still use older builds. */
const BUILDS_KEPT = 3;
const HASH_LENGTH = 16;
/** Characters that Vite interprets when they are in a path. It only warns about them, and the build then fails with other errors. */
const VITE_CANNOT = /[#?*]/;
const OUTPUT_SHOWN_CHARS = 4_000;

/** Thrown if a build fails. `message` contains the bundler's output. */
export class DashboardBuildError extends Error {
  override readonly name = 'DashboardBuildError';
}

/**
 * Returns the folder with a production build (`client`, `server`) of the current sources. If there is no such build, calls
 * `onBuild` and creates the build, which takes 10 to 20 seconds. Several processes may do this at the same time.
 */
export const ensureDashboardBuild = async (onBuild: () => void = () => undefined): Promise<string> => {
  // The npm package contains a build, but not its sources.
  if (!existsSync(path.join(DASHBOARD, 'vite.config.ts'))) return BUILDS;
  const folder = path.join(BUILDS, await hashInputs());
  if (existsSync(path.join(folder, 'server/index.js'))) {
    // Marks the build as used, so that it is not removed as an old one. In images, the root file system is read-only, so this call
    // fails, but no build is removed either.
    await utimes(folder, new Date(), new Date()).catch(() => undefined);
    return folder;
  }
  const [character] = VITE_CANNOT.exec(DASHBOARD) ?? [];
  if (character !== undefined)
    throw new DashboardBuildError(
      `cannot build the dashboard: Vite does not support ${character} in the path ${DASHBOARD}. Move the checkout to another folder`,
    );
  onBuild();
  const unfinished = `${folder}.${process.pid}.tmp`;
  try {
    await mkdir(unfinished, { recursive: true });
    await runVite(unfinished);
    await compressAssets(path.join(unfinished, 'client'));
    await rename(unfinished, folder).catch((error: unknown) => {
      // Another process has finished the same build first.
      if (!existsSync(path.join(folder, 'server/index.js'))) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  await removeOldBuilds();
  return folder;
};

const hashInputs = async (): Promise<string> => {
  const files: string[] = [];
  for await (const entry of glob(INPUTS, { cwd: DASHBOARD, withFileTypes: true })) {
    if (entry.isFile()) files.push(path.relative(DASHBOARD, path.join(entry.parentPath, entry.name)));
  }
  // Production images have no lockfile because they include a build.
  if (existsSync(path.join(DASHBOARD, LOCKFILE))) files.push(LOCKFILE);
  const hash = createHash('sha256');
  for (const file of files.sort())
    hash
      .update(`${file}\0`)
      .update(await readFile(path.join(DASHBOARD, file)))
      .update('\0');
  return hash.digest('hex').slice(0, HASH_LENGTH);
};

const runVite = async (buildDirectory: string): Promise<void> => {
  const command = createRequire(import.meta.url).resolve('@remix-run/dev/dist/cli.js');
  const child = spawn(process.execPath, [command, 'vite:build'], {
    cwd: DASHBOARD,
    env: { ...process.env, NODE_ENV: 'production', STANDIN_DASHBOARD_BUILD_DIR: buildDirectory },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_SHOWN_CHARS);
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new DashboardBuildError(`cannot build the dashboard:\n${output}`);
};

const compress = promisify(brotliCompress);

/** Compresses assets once at the highest level, instead of on every request. */
const compressAssets = async (folder: string): Promise<void> => {
  for await (const entry of glob('**/*.{js,css,svg}', { cwd: folder, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    await writeFile(`${file}.br`, await compress(await readFile(file)));
  }
};

const removeOldBuilds = async (): Promise<void> => {
  const names = (await readdir(BUILDS)).filter((name) => /^[0-9a-f]+$/.test(name));
  const builds = await Promise.all(
    names.map(async (name) => ({ name, usedAt: (await stat(path.join(BUILDS, name))).mtimeMs })),
  );
  const old = builds.sort((a, b) => b.usedAt - a.usedAt).slice(BUILDS_KEPT);
  await Promise.all(old.map(({ name }) => rm(path.join(BUILDS, name), { recursive: true, force: true })));
};
