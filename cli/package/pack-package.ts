import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs, promisify } from 'node:util';
import { ensureDashboardBuild } from '@standin/dashboard';
import { z } from 'zod';

const CLI = path.resolve(import.meta.dirname, '..');
const ROOT = path.dirname(CLI);

/** Maps each file or folder of the package to its source in the checkout. The other files are the bundle. */
const COPIES: Readonly<Record<string, string>> = {
  'bin/standin.js': 'cli/package/standin.js',
  'bin/kubectl-standin.js': 'cli/package/kubectl-standin.js',
  'bin/check-node.js': 'cli/package/check-node.js',
  'README.md': 'cli/package/README.md',
  LICENSE: 'LICENSE',
  // The code finds these two folders next to the folder with the bundle.
  migrations: 'packages/logstore/migrations',
  examples: 'crds/examples',
  crds: 'crds/manifests',
};

const run = promisify(execFile);
const packed = z.tuple([z.object({ filename: z.string() })]);

/**
 * Packs the npm package `standin`, which needs only its production dependencies and Node. Resolves with the path of the tarball in
 * `outDir`, which is created if it does not exist.
 */
export const packPackage = async (outDir: string): Promise<string> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'standin-package-'));
  try {
    const build = await ensureDashboardBuild();
    await bundle(folder, build);
    await compileClient(path.join(folder, 'client'));
    await cp(path.join(build, 'client'), path.join(folder, 'build/client'), { recursive: true });
    // The pages are the only part that contains code of npm packages.
    await cp(path.join(build, 'client/third-party-licences.txt'), path.join(folder, 'THIRD-PARTY-LICENCES'));
    for (const [to, from] of Object.entries(COPIES)) {
      await cp(path.join(ROOT, from), path.join(folder, to), { recursive: true });
    }
    for (const name of ['standin', 'kubectl-standin']) await chmod(path.join(folder, `bin/${name}.js`), 0o755);
    await mkdir(outDir, { recursive: true });
    const { stdout } = await run('npm', ['pack', folder, '--pack-destination', outDir, '--json', '--ignore-scripts']);
    const [{ filename }] = packed.parse(JSON.parse(stdout));
    return path.resolve(outDir, filename);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/**
 * Bundles the workspaces and the dashboard's server build into a folder, in a separate process with NODE_ENV=production, as for the
 * kubectl plugin.
 */
const bundle = async (outDir: string, dashboardBuild: string): Promise<void> => {
  const vite = path.join(path.dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js');
  const config = path.join(CLI, 'package/vite.config.ts');
  await run(process.execPath, [vite, 'build', '--config', config, '--outDir', outDir, '--logLevel', 'error'], {
    env: { ...process.env, NODE_ENV: 'production', STANDIN_DASHBOARD_BUILD_DIR: dashboardBuild },
  });
};

/**
 * Compiles the client with its types. As CommonJS, so that jest can load it without flags, and because other tools load CommonJS in the same
 * way as modules.
 */
const compileClient = async (outDir: string): Promise<void> => {
  const tsc = createRequire(import.meta.url).resolve('typescript/lib/tsc.js');
  await run(process.execPath, [tsc, '--project', path.join(CLI, 'client/tsconfig.json'), '--outDir', outDir]);
  await writeFile(path.join(outDir, 'package.json'), '{ "type": "commonjs" }\n');
};

const USAGE = `Usage: npm run package -- [--out DIR]

Packs the npm package, as a release publishes it.

  --out DIR  where to write it (default: package)
`;

if (import.meta.main) {
  const { values } = parseArgs({
    options: { out: { type: 'string', default: 'package' }, help: { type: 'boolean', short: 'h', default: false } },
  });
  process.stdout.write(values.help ? USAGE : `${await packPackage(values.out)}\n`);
}
